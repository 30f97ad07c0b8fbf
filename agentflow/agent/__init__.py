"""agent.yaml, from the text of a file to a frozen configuration."""
