"""What is done next, as values: actions → table → protocol → judge; decision says who decides, triggers about what.

`worker` asks a worker; `reference` writes the tables of docs/worker-protocol.md.
"""
