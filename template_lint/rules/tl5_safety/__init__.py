"""Rules about safety and determinism."""
