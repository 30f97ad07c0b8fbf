"""What is pure in `agentflow/records`."""
