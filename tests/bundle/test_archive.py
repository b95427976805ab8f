"""The archive itself: what goes in has no past, and what comes out can't go anywhere else."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import pytest

from bench.bundle.archive import Archive, is_name
from provisioning.errors import InvalidInput


def test_times_modes_and_order_are_always_the_same(bundled: Path) -> None:
    """The first day that zip knows, readable by all, uncompressed, sorted."""
    with zipfile.ZipFile(bundled) as archive:
        infos = archive.infolist()
    assert {(info.date_time, info.external_attr >> 16, info.compress_type) for info in infos} == {
        ((1980, 1, 1, 0, 0, 0), stat.S_IFREG | 0o644, zipfile.ZIP_STORED)
    }
    assert [info.filename for info in infos] == sorted(info.filename for info in infos)


@pytest.mark.parametrize(
    "name", ["a", "trials/.attempts-b01.json", "trials/b01-1-x-l2/logs/broker-1/server.log.1", "a.b/c..d"]
)
def test_names_of_results_are_names(name: str) -> None:
    """Those that samebox and the systems' logs have."""
    assert is_name(name)


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../a", "a/../b", "a/..", "/a", "a//b", "a/", "a\\b", "c:a", "a b", "a\n", "ä", "a/" * 20 + "b"],
)
def test_nothing_else_is_a_name(name: str) -> None:
    """It would lead out, or be another file elsewhere."""
    assert not is_name(name)


def test_a_link_is_no_file(bundled: Path, tmp_path: Path) -> None:
    """What it holds is where it points to."""
    copy = tmp_path / "demo.samebox"
    copy.write_bytes(bundled.read_bytes())
    link = zipfile.ZipInfo("report/link", (1980, 1, 1, 0, 0, 0))
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(copy, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(InvalidInput, match=r"report/link': a symbolic link"):
        Archive(copy)


def test_an_archive_is_as_it_was_written(bundled: Path) -> None:
    """Writing its files again gives the same bytes."""
    with Archive(bundled) as archive:
        assert archive.is_as_written()
