"""One run of an agent: staging → journal, transcript, in_flight, todos → execution holds them; ending closes it.

model_calls and tool_calls begin and end what is in flight; draft_answer may still change what is staged; recorded_path
reads the path, and repairs it.
"""
