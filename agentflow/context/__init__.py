"""Making room for the model, decided without any effect: how much it would read, when that is too much, what stays."""
