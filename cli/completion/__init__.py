"""What a shell asks while a command line is typed: completion, and the values of arguments."""
