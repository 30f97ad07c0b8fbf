"""One call: model_stream, side_call, tool_batch, left_open, limit_question; hooks and flow_context around it,
with what flows reach of the turn: entity_data, stored_notes, from_thread."""
