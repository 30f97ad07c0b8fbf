"""What a database's rows must be, and where they are not.

words and fields say what a column may hold, pointers which row a column names; search goes through the rows of a
session or of all and finds what is damaged, and cause says whether an error came of that.
"""
