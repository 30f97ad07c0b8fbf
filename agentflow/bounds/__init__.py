"""What comes from outside, weighed before anything is done with it (Z3): weight → beside; json_slices, patterns."""
