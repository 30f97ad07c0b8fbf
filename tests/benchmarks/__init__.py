"""What the engine costs, measured beside plain sqlite3 in the same run: `python -m tests.benchmarks`."""
