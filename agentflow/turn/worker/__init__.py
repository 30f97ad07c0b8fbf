"""Asking a worker: in_force holds state and configuration along the path → asking makes the request of a decision."""
