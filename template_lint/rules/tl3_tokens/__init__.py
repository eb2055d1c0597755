"""Rules about token ids: what a tokenizer makes of the text that a template prints."""
