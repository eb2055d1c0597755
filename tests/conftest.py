"""What every test gets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.threads import only_ours


@pytest.fixture(autouse=True)
def only_our_threads() -> Iterator[None]:
    with only_ours():
        yield
