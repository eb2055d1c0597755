"""Training templates that are proven drop-ins, and the proof."""
