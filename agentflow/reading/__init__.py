"""What is read of sessions: lookup, status, pages, transcript, stream, runs, trace, explain → reader."""
