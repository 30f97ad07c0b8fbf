"""What is kept beside a conversation's turns, one file a kind: reads and writes as jobs of the store's threads.

`SqlLedger` in `store/sql_ledger.py` gives them to the threads; its contract stands in `store/ledger_protocol.py`.
"""
