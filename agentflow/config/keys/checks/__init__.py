"""What keys of one file must be to each other: cross_checks, with context_checks and extra."""
