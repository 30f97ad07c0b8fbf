"""What only this process knows of its turns: feed, history_cache, interrupt, owner. No file knows another."""
