"""`agentflow dev`: files → burst say what was saved, touched whom it concerns, effect what it does → rounds."""
