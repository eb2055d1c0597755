"""Rules about messages that vanish, crash or change."""
