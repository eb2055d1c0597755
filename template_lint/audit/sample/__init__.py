"""Synthetic rollouts of a target, sound but for defects that are planted on purpose and named in the row."""
