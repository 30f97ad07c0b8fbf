"""Sessions as files: `written.py` and `brought.py` for databases, `story.py`, `markdown.py`, `page.py` for people.

What may stand in a file is checked whole in `checks.py`, against the tables of `store/portable.py`, before any of it is
written to a database (R12).
"""
