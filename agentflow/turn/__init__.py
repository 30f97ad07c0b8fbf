"""One step of a turn, start to end: starting_history → step_hooks → step_runner; resume_delegated.

`rules/` decides without effects, `run/` is one run of an agent, `calls/` one call of it, `loop/` the iteration,
`worker/` the same iteration with a worker deciding.
"""
