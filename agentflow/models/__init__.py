"""Model adapters behind one protocol, the assembly of their streams and the table of their errors."""
