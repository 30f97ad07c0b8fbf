"""`python -m agentflow_cli`."""

from .main import main

main()
