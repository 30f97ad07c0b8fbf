"""Requests of turns side by side: differences between two, then turns call by call."""
