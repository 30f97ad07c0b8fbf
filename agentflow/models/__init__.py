"""Model adapters behind one protocol, the assembly of their streams and the table of their errors.

assembly (with argument_pieces) makes replies of deltas, nothing_said and retry judge them, errors says what failed;
script → scripted_model, and wire → litellm_model, are opened by open; recording and switching stand before it.
"""
