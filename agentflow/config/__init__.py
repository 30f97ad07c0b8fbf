"""An agent.yaml as the program has it.

`document/` reads the text, `keys/` says what may stand there; then interfaces, inputs → agent_config → material,
project → prompt, last_good.
"""
