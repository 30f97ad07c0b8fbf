"""A database with something in every column, each wrong value in each column, and every command on what comes of it.

`project` makes the database, `cases` damages it and says what a command may not do then, `python -m tests.damaged`
runs the whole matrix.
"""
