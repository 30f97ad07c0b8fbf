"""The same iteration with a worker deciding: protocol → decision_points → actions → making_room → worker_loop."""
