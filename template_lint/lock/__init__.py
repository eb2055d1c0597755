"""The lock: which revisions of which models are pinned, what their prompts were, and whether that still holds."""
