"""TL7: other versions of transformers, other engines."""
