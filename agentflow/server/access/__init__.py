"""Who may, known from the head of a request, before its body is read (S9-S11).

host (which server is asked) → origin (which page asks) → credentials (who asks) → body_limits (what may come), each a
pure check that raises a `Refusal`; cross_origin says what pages elsewhere may read.
"""
