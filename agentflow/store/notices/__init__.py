"""What other processes do in a shared database, heard of at once (S3).

The log stays the truth: a notice only says that there is something to read, and carries what is not logged, the pieces
of replies. outbox, what is sent together → watchers → postgres and sqlite, how each database tells → opening.
"""
