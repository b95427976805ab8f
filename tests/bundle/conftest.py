"""An honest campaign, and the bundle of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench.bundle.write import make_bundle
from bench.results.folder import Results
from tests.bundle.honest import honest_results
from tests.bundle.reports import SumsOfLatencies


@pytest.fixture(scope="session")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with a report, of which everything agrees; to be copied, not changed."""
    root = honest_results(tmp_path_factory.mktemp("honest") / "demo")
    SumsOfLatencies()(Results(root), root / "report")
    return root


@pytest.fixture
def results(honest: Path, tmp_path: Path) -> Path:
    """The same, of a test's own."""
    return shutil.copytree(honest, tmp_path / "results" / "demo")


@pytest.fixture(scope="session")
def bundled(honest: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its bundle; to be copied, not changed."""
    target = tmp_path_factory.mktemp("bundled") / "demo.samebox"
    make_bundle(Results(honest), target)
    return target
