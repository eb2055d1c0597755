"""Recorded rollouts: read, checked, summed up. Uses the tokenizer, the template and drift; knows no reports.

The shape is map and merge: ``block.audit_block`` is a pure function from a block of rows to a ``Summary``, and
summaries of neighbouring blocks merge, in order, to the summary of both. So it does not matter who runs the map.
"""
