"""The mirror of ``apply_chat_template``: environment, profiles, messages, positions, trace, limits."""
