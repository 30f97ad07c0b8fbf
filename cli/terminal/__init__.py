"""What is said to people and read from them: output and notes, live text, questions, standard input, interrupts."""
