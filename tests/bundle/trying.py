"""Tries mutations of a bundle, and counts which were found by what, and whether they were named rightly."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.bundle.layout import COVER, SIGNATURE, SUMS
from bench.bundle.reading import open_bundle
from bench.bundle.write import make_bundle
from bench.results.folder import Results
from bench.verify.difference import Difference
from bench.verify.seals import Expected
from bench.verify.verify import MakesReports, examine, recompute
from provisioning.errors import InvalidInput
from provisioning.testbeds.local.sshd import make_key
from tests.bundle.mutations import Forger, Named, World, mutate


@dataclass(frozen=True)
class Tried:
    """One mutation. `recomputed`: nothing told it before the figures did. `by_root`: not even these, but the root that was published;
    then every figure is as it was. `said`: the first differences, or the refusal.
    """

    number: int
    mutation: str
    forger: Forger
    found: bool
    named: bool
    recomputed: bool
    by_root: bool
    seconds: float
    said: tuple[str, ...]


@dataclass
class Kept:
    """Makes a report once of the same files: what was made is kept by a digest of all of them but the report."""

    make: MakesReports
    folder: Path
    made: int = 0
    seconds: float = 0.0

    def __call__(self, results: Results, out: Path) -> None:
        kept = self.folder / _digest(results.root)
        if not kept.exists():
            began_s = time.monotonic()
            self.make(results, kept)
            self.made, self.seconds = self.made + 1, self.seconds + time.monotonic() - began_s
        shutil.copytree(kept, out)


def make_world(results: Path, folder: Path) -> World:
    """The signed bundle of an honest campaign that has a report."""
    make_key(folder / "key", "ada@example.org")
    make_key(folder / "other", "eve@example.org")
    allowed = folder / "allowed"
    allowed.write_text(f"ada@example.org {(folder / 'key.pub').read_text()}")
    bundle = folder / "honest.samebox"
    make_bundle(Results(results), bundle, key=folder / "key")
    unpacked = folder / "unpacked"
    with open_bundle(bundle) as opened:
        opened.unpack(unpacked)
        for name in (SUMS, COVER, SIGNATURE):
            with opened.archive.open(name) as stream:
                (unpacked / name).write_bytes(stream.read())
    return World(bundle, unpacked, folder / "key", folder / "other", allowed)


def try_one(world: World, scratch: Path, number: int, seed: int, make_report: MakesReports | None) -> Tried:
    """`make_report` None: figures aren't recomputed, and what only they could tell isn't found."""
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        folder = Path(name)
        mutation, forger, target, named = mutate(world, folder, number, seed)
        began_s = time.monotonic()
        try:
            differences, recomputed = find(target, folder, Expected(None, world.allowed_signers), make_report)
            said = tuple(f"{each.kind} {each.where}: {each.what}" for each in differences)
            by_root = not differences and _root_of(target) != _root_of(world.bundle)
            found, right = bool(differences) or by_root, by_root or any(_is_as(each, named) for each in differences)
        except InvalidInput as error:
            said, found, right, recomputed, by_root = (str(error),), True, "unreadable" in named.kinds, False, False
    return Tried(number, mutation, forger, found, right, recomputed, by_root, time.monotonic() - began_s, said[:5])


def find(
    bundle: Path, folder: Path, expected: Expected, make_report: MakesReports | None
) -> tuple[list[Difference], bool]:
    """All differences, and whether figures were recomputed: only where nothing else differs."""
    unpacked = folder / "results"
    with open_bundle(bundle) as opened:
        differences = list(examine(opened, unpacked, expected).differences)
    if differences or make_report is None:
        return differences, False
    found = recompute(unpacked, make_report, folder / "report")
    return [each for each in found if isinstance(each, Difference)], True


def _root_of(bundle: Path) -> str:
    with open_bundle(bundle) as opened:
        return opened.root


def _is_as(difference: Difference, named: Named) -> bool:
    if difference.kind not in named.kinds:
        return False
    # of an edited report the file is named; figures that records don't give are named where they are, in whatever file
    of_records = difference.kind == "report" and not named.where.startswith("report")
    return of_records or named.where in difference.where


def _digest(root: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file() and "report" not in path.relative_to(root).parts[:1]:
            digest.update(f"{path.relative_to(root)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()
