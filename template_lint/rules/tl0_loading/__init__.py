"""Rules about files and loading."""
