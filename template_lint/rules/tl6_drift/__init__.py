"""Pins and drift."""
