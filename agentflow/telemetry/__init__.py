"""What OpenTelemetry is told of turns: `shapes` says what each span has, `spans` opens them where somebody listens."""
