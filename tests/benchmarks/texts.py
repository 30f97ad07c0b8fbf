"""The 3 KB of text of one turn; no import here, so that the floor's process starts bare."""

from __future__ import annotations

QUESTION = "Where is the invoice of last month? " * 14
RESULT = "invoice 4711, 19.99, paid; " * 55
ANSWER = "The invoice of last month was paid on time. " * 23
ARGUMENTS = '{"number":4711}'
TEXT_BYTES = len(QUESTION) + len(RESULT) + len(ANSWER)
