"""Rules about prefix preservation."""
