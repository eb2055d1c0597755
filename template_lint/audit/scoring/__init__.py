"""Log-probabilities of recorded ids under a real causal language model: what a trainer would compute.

Needs the extra ``score`` (torch and transformers). Knows nothing of files and summaries.
"""
