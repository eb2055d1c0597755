"""Loads the model that scores: weights from safetensors only, no code from the repository."""

from __future__ import annotations

import sys
from typing import Any

from template_lint.errors import CannotCheckError, UsageError

DTYPES = ("auto", "float32", "bfloat16", "float16")


def load_model(name: str, *, device: str = "cpu", dtype: str = "float32", offline: bool = False) -> Any:
    """A transformers causal language model from a folder or ``org/name[@revision]``, on ``device``.

    Raises UsageError where the extra ``score`` is missing or the device is, and CannotCheckError (``no-model``) for a
    model that cannot be loaded.
    """
    try:
        import torch
        from transformers import AutoModelForCausalLM
        from transformers.utils import logging
    except ImportError as error:
        raise UsageError(
            f"--score needs torch and transformers: pip install 'template-lint[score]' ({error})."
        ) from None
    from template_lint.target import parse_target

    if not sys.stderr.isatty():
        bars: Any = logging
        bars.disable_progress_bar()
    target = parse_target(name)
    source = str(target.path or target.repo)
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(
            source,
            revision=target.revision or "main",
            dtype=dtype if dtype == "auto" else getattr(torch, dtype),
            trust_remote_code=False,
            use_safetensors=True,
            local_files_only=offline,
        )
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CannotCheckError(
            f"{name} cannot be loaded as a causal language model: {reason}", kind="no-model"
        ) from None
    try:
        return model.to(device)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(f"--score-device {device}: {str(error).splitlines()[0]}") from None
