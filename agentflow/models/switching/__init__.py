"""Models that can be exchanged for others while their agents go on: switch."""
