"""What a paused turn waits for, in its one shape (`awaited`), and how answers to its questions read (`answers`)."""
