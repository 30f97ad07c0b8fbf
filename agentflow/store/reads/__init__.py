"""What is read, one file a subject; nothing here writes."""
