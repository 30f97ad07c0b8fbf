"""An agent with everything it names found and opened: worker → loaded_agent → loading → project_folder.

validate finds the same things and only complains.
"""
