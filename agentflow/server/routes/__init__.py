"""What can be asked, one file a subject; json_route reads their bodies, paths their parameters."""
