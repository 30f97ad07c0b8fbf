"""How SQL is run: database → connection → transaction → job_thread → writer, reader.

tables, statements and schema say on what; migrations bring older files up to it.
"""
