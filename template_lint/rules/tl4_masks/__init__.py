"""Rules about loss masks: what ``{% generation %}`` marks."""
