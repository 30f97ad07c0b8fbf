"""Flows as tools: found, described to the model, and called."""
