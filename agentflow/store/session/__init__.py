"""One session inside a transaction: session_row → refusals, waiting, close_turn, begin_again → open_step."""
