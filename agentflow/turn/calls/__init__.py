"""One call: model_stream, side_call, tool_batch, left_open, limit_question; hooks and flow_context around it.

What flows reach of the turn is in entity_data and stored_notes, over from_thread.
"""
