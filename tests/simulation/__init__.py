"""The whole runtime in a world of one seed: time, threads, processes, the database, models, tools and clients.

    python -m tests.simulation SEED              one life, its history step by step, shrunk when it fails
    python -m tests.simulation --search --seeds 1..100 --steps 2000
    python -m tests.simulation --breaks          deliberate breaks of the engine, and where each is found

loop is the clock and every process's callbacks; machine is a process: who it is, its store's jobs, its database that
may refuse; agents, model and operations are what happens in it; ledger keeps what was acknowledged and seen; rows and
verdict are what must be true after each commit and in the end; world puts them together and makes each choice; search
runs many seeds and shrinks what fails; breaks proves that it finds faults.
"""
