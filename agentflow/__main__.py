"""`python -m agentflow`: the command line, where its console script is not on the path."""

from importlib import import_module

import_module("agentflow_cli.main").main()
