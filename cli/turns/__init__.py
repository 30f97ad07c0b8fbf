"""The commands that run a turn, answer its questions or stop it; follow shows what happens."""
