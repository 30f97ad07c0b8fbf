"""The `agentflow` command: a leaf that knows agentflow by its public names only (installed as `agentflow_cli`)."""
