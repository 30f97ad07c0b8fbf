"""The commands for who writes agents."""
