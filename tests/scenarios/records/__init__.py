"""What is kept about conversations beside their turns."""
