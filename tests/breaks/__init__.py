"""Small deliberate breaks of the core, and the tests that should notice each: `python -m tests.breaks`.

`entry` says what a break is, `run` applies one after the other in a copy of the tree and runs its tests there, and
`__main__` is the command line. `tables/` has the breaks, a file for each part of the core.
"""
