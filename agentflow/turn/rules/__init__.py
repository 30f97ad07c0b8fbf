"""Pure: limits, decisions, and the machine. No await, no store."""
