"""An agent with everything it names found and opened: worker → loaded_agent → parts → loading → project_folder.

validate looks the same parts up and only complains; advisories are what it warns of.
"""
