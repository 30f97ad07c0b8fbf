"""What only this process knows of its turns: event_feed, history_cache, interrupt, owner. No file knows another."""
