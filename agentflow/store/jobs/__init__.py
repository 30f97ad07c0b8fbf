"""What a request does, a function of a transaction each: claim, append, stop, move_head, merge_view, settle."""
