"""Whether agentflow can work here: diagnosis asks machine, project and database, and each finding is a check."""
