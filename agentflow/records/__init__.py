"""What is made of sessions and agents beside running them: traces, checks of an agent.yaml."""
