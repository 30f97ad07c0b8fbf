"""Every key, declared once: base → agent, context, project.

They are checked (checking, cross_checks, context_checks) and described (schema).
"""
