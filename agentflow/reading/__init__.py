"""What is read of sessions: lookup, status, pages, transcript, stream, trace, explain → reader."""
