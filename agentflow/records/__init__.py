"""What is kept about conversations beside their turns, for the people who look after them (R5-R12).

`Records` in `book.py` is the door, reached as `runtime.records`; each kind has a file of its own.
"""
