"""Verifies a bundle: seals, documents, rows, and every figure, in this order; each step relies on those before it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from bench.bundle.layout import ABOUT, is_message_record
from bench.bundle.reading import MOST_DOCUMENT_BYTES, Bundle
from bench.bundle.signature import Signed
from bench.results.folder import Results
from bench.verify.difference import Difference, Found, Unchecked
from bench.verify.documents import read_manifest, read_trials
from bench.verify.figures import report_differences
from bench.verify.order import Planned, order_differences, planned_of
from bench.verify.rows import record_differences
from bench.verify.seals import ANYTHING, Expected, identity_differences, seal_differences
from bench.verify.trials import Recorded, recorded_trials, time_differences, trial_differences
from bench.verify.versions import version_differences
from provisioning.errors import InvalidInput, MissingRequirement, SameboxError

CANNOT_KNOW = (
    "whether the machines were what their facts say, and idle but for what telemetry shows",
    "whether the software that ran was that of the lock files: those who ran it took its digests",
    "whether the records are of real messages: who makes up records, counters and report alike contradicts nothing",
    "whether the campaign ran only once, or this is the run that was liked best",
    "when it ran: its times are those of the hosts' own clocks",
)


class MakesReports(Protocol):
    """Makes the report of a results folder in `out`, which isn't there yet. Raises SameboxError."""

    def __call__(self, results: Results, out: Path) -> None: ...


@dataclass(frozen=True)
class Verification:
    """What was found. `recomputed`: whether every figure was. `made_with`: version and commit of samebox that began the campaign."""

    root: str
    campaign: str
    has_records: bool
    signed: Signed | None
    found: tuple[Found, ...]
    recomputed: bool = False
    trials: int = 0
    made_with: str = ""

    @property
    def differences(self) -> tuple[Difference, ...]:
        """What isn't as it must be."""
        return tuple(each for each in self.found if isinstance(each, Difference))

    @property
    def unchecked(self) -> tuple[Unchecked, ...]:
        """What couldn't be looked at."""
        return tuple(each for each in self.found if isinstance(each, Unchecked))

    @property
    def is_identical(self) -> bool:
        """Whether all that matters was looked at, recomputed, and is the same."""
        return self.recomputed and not self.differences and not any(each.matters for each in self.unchecked)


def verify(
    bundle: Bundle,
    scratch: Path,
    make_report: MakesReports,
    expected: Expected = ANYTHING,
    on_step: Callable[[str], None] = lambda _what: None,
) -> Verification:
    """Everything. `scratch`: where a folder for the unpacked bundle is made and removed again.

    Raises InvalidInput for what can't be read as a bundle, MissingRequirement for what this machine lacks.
    """
    with tempfile.TemporaryDirectory(prefix="verify-", dir=scratch) as folder:
        unpacked = Path(folder) / "results"
        looked = examine(bundle, unpacked, expected, on_step)
        if why := _why_not_recomputed(bundle, looked):
            skipped = Unchecked(f"every figure, check, comparison and verdict: {why}")
            return replace(looked, found=(*looked.found, skipped))
        on_step("every figure from the records")
        found = recompute(unpacked, make_report, Path(folder) / "report")
        return replace(looked, found=(*looked.found, *found), recomputed=True)


def examine(
    bundle: Bundle, unpacked: Path, expected: Expected = ANYTHING, on_step: Callable[[str], None] = lambda _what: None
) -> Verification:
    """All but the figures. `unpacked`: the folder to unpack to, which isn't there yet; nothing is unpacked if a seal is broken.

    Raises as `verify`.
    """
    on_step("SHA-256 of every file")
    signed, found = identity_differences(bundle, expected)
    broken = list(seal_differences(bundle))
    looked = Verification(bundle.root, bundle.about.campaign, bundle.has_records, signed, (*found, *broken))
    if broken:
        return looked
    with _named_after(bundle, unpacked):
        _require_bounded(bundle)
        bundle.unpack(unpacked)
        on_step("documents against campaign and seed")
        results = Results(unpacked)
        manifest, documents = read_manifest(results), read_trials(results)
        told: list[Found] = list(looked.found)
        planned = planned_of(results, manifest)
        if isinstance(planned, Unchecked):
            told.append(planned)
            planned = Planned()
        trials = recorded_trials(manifest, planned, documents)
        told += _about_differences(bundle, manifest)
        told += order_differences(results, manifest, planned)
        told += trial_differences(manifest, trials, list(documents))
        told += time_differences(manifest, trials)
        told += version_differences(unpacked, manifest)
        if bundle.has_records:
            on_step("rows against counters and each other")
            told += _record_differences(results, manifest, trials)
    return replace(looked, found=tuple(told), trials=len(trials), made_with=_made_with(manifest))


def recompute(unpacked: Path, make_report: MakesReports, out: Path) -> Iterator[Found]:
    """The report of an unpacked bundle against the one that its records give, which is made in `out`. Raises MissingRequirement."""
    try:
        make_report(Results(unpacked), out)
    except MissingRequirement:
        raise
    except SameboxError as error:
        said = [line.strip() for line in str(error).replace(f"{unpacked}/", "").splitlines() if line.strip()]
        yield Difference("report", "report", f"no report can be made of its records: {said[-1].rstrip('.')}")
        return
    yield from report_differences(Results(unpacked).report_dir, out)


def _why_not_recomputed(bundle: Bundle, looked: Verification) -> str | None:
    """Why figures weren't looked at; None: they can be."""
    kinds = {each.kind for each in looked.differences}
    if kinds & {"bytes", "form"}:
        return "what is in the file isn't what was bundled"
    if not bundle.has_records:
        return "it was bundled without the records of messages"
    if "records" in kinds:
        return "records that contradict their counters or one another give no figures"
    return None


def _about_differences(bundle: Bundle, manifest: Mapping[str, Any]) -> Iterator[Difference]:
    if bundle.about.campaign != manifest["campaign"]:
        yield Difference(
            "form", ABOUT, f"it names the campaign {bundle.about.campaign!r}, the manifest {manifest['campaign']!r}"
        )
    if not bundle.has_records and any(map(is_message_record, bundle.names)):
        yield Difference("form", ABOUT, "it says that there are no records of messages, and there are")


def _record_differences(results: Results, manifest: Mapping[str, Any], trials: list[Recorded]) -> Iterator[Difference]:
    for trial in trials:
        yield from record_differences(results.trial_dir(trial.name), trial, int(manifest["seed"]))


def _require_bounded(bundle: Bundle) -> None:
    for name in bundle.names:
        if name.endswith((".json", ".toml")) and bundle.size_bytes(name) > MOST_DOCUMENT_BYTES:
            raise InvalidInput(
                f"{bundle.path}: {name} has {bundle.size_bytes(name):,} bytes; at most {MOST_DOCUMENT_BYTES:,} are read."
            )


@contextmanager
def _named_after(bundle: Bundle, unpacked: Path) -> Iterator[None]:
    """Errors name the bundle, not the folder that it was unpacked to; documents of no sensible shape are an error of the input."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(str(error).replace(f"{unpacked}/", f"{bundle.path}: ")) from None
    # keys that verifying looks at are typed; this is for what combinations of them nobody has thought of
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise InvalidInput(
            f"{bundle.path}: its documents hold what samebox never writes ({type(error).__name__}: {error})."
        ) from None


def _made_with(manifest: Mapping[str, Any]) -> str:
    git = manifest.get("git") or {}
    commit = git.get("commit") if isinstance(git, dict) else None
    return f"samebox {manifest.get('samebox_version')}" + (f", commit {str(commit)[:12]}" if commit else "")
