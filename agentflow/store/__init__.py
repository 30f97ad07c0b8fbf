"""The durable record of sessions: tables, one writer, claims, and reads."""
