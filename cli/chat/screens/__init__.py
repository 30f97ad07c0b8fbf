"""Where a chat is typed and shown: typed → screen, with lines alone → keyboard; captured keeps others off it."""
