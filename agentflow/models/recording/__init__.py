"""Replies of models kept in a file and given again: request → recording_file → recorder and replay.

The same file serves `run --record` and `--replay`, `eval run --replay` and the kit (R9).
"""
