"""Another model when one cannot be had: who is asked in which order, and how long a failed one is passed over (W5)."""
