"""The iteration: replace_history → making_room → loop → sub_agents; planner."""
