"""The commands that read what happened in a session."""
