"""The turn: its machine, its decisions, and the one place that performs them."""
