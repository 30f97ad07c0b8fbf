"""Whether agentflow can work here."""
