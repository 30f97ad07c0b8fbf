"""Every key, declared once: base → agent, context, project.

They are checked (checking, with checks/ and spellings) and described (schema).
"""
