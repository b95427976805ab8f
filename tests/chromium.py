"""Whether this machine has a browser: tests of the site look at its pages as a reader does."""

from __future__ import annotations

import os
import shutil

import pytest

CHROMIUM = shutil.which("chromium")
# its sandbox needs a user of its own
AS_ROOT = ["--no-sandbox"] if os.geteuid() == 0 else []
ARGUMENTS = [*AS_ROOT, "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium isn't installed; `make test` brings it")
