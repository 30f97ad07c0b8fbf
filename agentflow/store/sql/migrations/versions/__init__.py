"""The schema's versions in order; the newest is `schema.SCHEMA_VERSION`."""
