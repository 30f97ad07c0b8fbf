"""The public names as a type checker sees them: checked by mypy with the package, never run."""
