"""Made-up campaigns, and a site of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.campaigns import made_up, site_of


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Four bundles and an import; to be copied, not changed."""
    return made_up(tmp_path_factory.mktemp("bundles"))


@pytest.fixture(scope="session")
def site(bundles: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a site of them."""
    return site_of(bundles, tmp_path_factory.mktemp("made") / "site")
