"""What pip needs in its environment to install this checkout without network: the libraries are those of the tests.

A real installation, from the registry, is what ``.ci/run`` does first.
"""

from __future__ import annotations

import importlib.util
import sysconfig

import pytest

needs_hatchling = pytest.mark.skipif(
    importlib.util.find_spec("hatchling") is None, reason="hatchling is not installed; pip install '.[test]'"
)

OFFLINE_PIP = {
    "PIP_NO_INDEX": "1",
    "PIP_NO_DEPS": "1",
    "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this one the wrong way round: 0 switches the isolation off
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PYTHONPATH": sysconfig.get_path("purelib"),
}
