"""What comes from outside, bounded by its form before anything is done with it: weight, json_slices, patterns (Z3)."""
