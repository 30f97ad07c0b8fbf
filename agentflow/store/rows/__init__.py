"""What a commit writes: one tuple type per statement, its fields in the order of the statement's parameters.

inserts → changes, by kind in written, which `sql/statements.py` turns into SQL text once; messages are made from their
values and read back. The store adds `session_key`, for the session's own row its key.
"""
