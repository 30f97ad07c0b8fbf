"""The small projects that `agentflow init` writes, a file each: `template` says what one is, `table` lists them."""
