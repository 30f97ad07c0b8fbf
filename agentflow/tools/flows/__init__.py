"""Functions of workflows/ as tools: files → library, with signature, docstrings, context, threads, reserved names."""
