"""Housekeeping."""
