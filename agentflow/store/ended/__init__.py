"""What the end of a turn leaves behind, in the transaction that ends it: what it counted, and no more than it may.

`turn_ended` is called wherever a step ends: by itself, closed, repaired, stopped, expired. `counting.py` sums a turn,
`erase.py` takes away what `observability: false` does not keep.
"""
