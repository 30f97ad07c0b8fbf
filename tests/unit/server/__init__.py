"""What is pure in `agentflow/server`."""
