"""What is read of sessions: trace, explain → reader."""
