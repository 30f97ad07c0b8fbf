"""A test without Python, as its file says it: expected, reply_schema, keys → checked → reading; schema describes it."""
