"""AG-UI, a protocol between agents and browsers: translated here at the edge, and never stored (G1-G5).

messages (theirs and ours) → request (what a client asks, and what is to be done for it) → replies and translator (our
events as theirs) → ending (how a run ends) → run (both directions at work) → routes.
"""
