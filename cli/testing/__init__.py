"""Commands that test agents: test runs them, report shows what came of it, from_session writes one."""
