"""Events on the wire: frames (bytes) → cursor (where a reader goes on) → outbox (what waits to be sent) → event_stream.

pages has the same events as JSON.
"""
