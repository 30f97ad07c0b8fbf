"""The flows we ship: plain functions that an agent.yaml names, or a test calls."""
