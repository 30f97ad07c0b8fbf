"""The agents of one test: scripts and stubs say what their models and tools give, under_test writes their files."""
