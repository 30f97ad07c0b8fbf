"""One call: model_stream, side_call, tool_batch, left_open; hooks and flow_context around it."""
