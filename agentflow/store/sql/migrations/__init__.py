"""Alembic's folder: `env.py` is run by it, `versions/` has one file for each schema version, written by hand (R1)."""
