"""The scenario catalogue and its loader; users' own conversations load the same way."""
