"""Drift: two observations of one model compared, and how grave the difference is for a run."""
