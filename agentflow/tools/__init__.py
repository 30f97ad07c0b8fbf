"""A tool and one call of it: `flows/`, then tool, builtin → arguments → calls → results; hook_calls."""
