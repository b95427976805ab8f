"""Whether this machine can trace processes: tests of the durability proof need it."""

from __future__ import annotations

import shutil

import pytest

needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace isn't installed; `make test` brings it"
)
