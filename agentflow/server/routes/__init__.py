"""What can be asked, one file a subject; each has a `router`."""
