"""What happened, as a person reads it: trace shows a log in short lines, golden makes one that can be compared."""
