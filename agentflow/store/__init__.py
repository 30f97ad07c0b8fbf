"""The durable record of sessions.

The contract is rows → requests → records, outcomes → protocol; `sql/` is how SQL is run, `reads/` what is read,
`session/` one session inside a transaction, `jobs/` what a request does; sql_store puts them together.
"""
