"""One run of an agent: step, journal → in_flight → execution holds them; ending closes it.

todos, draft_answer and limit_question are kept in it.
"""
