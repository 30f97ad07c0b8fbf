"""What a conversation is, decided without any effect: histories, views, inputs, repair."""
