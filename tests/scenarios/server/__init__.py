"""The server's routes over whole turns."""
