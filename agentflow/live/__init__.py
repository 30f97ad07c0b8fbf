"""What only this process knows of its turns: home, event_feed, history_cache, interrupt, owner.

No file knows another.
"""
