"""What can't be watched, said before anything is started."""

from __future__ import annotations

from collections.abc import Sequence

from contract.watch_history import History
from contract.workload import Workload
from provisioning.errors import InvalidInput
from systems.registry import SYSTEMS, release_of


def versions_in(text: str) -> tuple[str, ...]:
    """Of A,B,C. Raises InvalidInput for one that is empty or named twice."""
    versions = tuple(each.strip() for each in text.split(","))
    if not all(versions):
        raise InvalidInput(f"--versions {text}: a version is empty.", next_step="Write them as A,B,C.")
    twice = sorted({version for version in versions if versions.count(version) > 1})
    if twice:
        raise InvalidInput(f"--versions {text}: {', '.join(twice)} is named twice.")
    return versions


def require_watchable(system: str, anchor: str, versions: Sequence[str], durability: str, workload: Workload) -> None:
    """Raises InvalidInput: the anchor among the versions, one that isn't pinned or can't be run so, a load without one figure."""
    if anchor in versions:
        raise InvalidInput(
            f"--versions names the anchor, {anchor}: it would only be compared with itself.",
            next_step="Leave it out; it runs in every block anyway.",
        )
    if workload.pacing == "ladder" or workload.backlog is not None:
        what = "a ladder has a figure for each of its rates" if workload.pacing == "ladder" else "a backlog has no rate"
        raise InvalidInput(
            f"workload {workload.name}: {what}, and a watch follows one.",
            next_step='Give a workload with pacing = "open-loop", "search" or "closed-loop", and without a backlog.',
        )
    for option, version in (("--anchor", anchor), *(("--versions", each) for each in versions)):
        _require_runnable(f"{option} {version}", system, version, durability, workload)


def require_series(history: History, versions: Sequence[str]) -> None:
    """Raises InvalidInput where, with those of the history, there is only one version: nothing can change from it to the next."""
    if len({*history.versions, *versions}) < 2:
        raise InvalidInput(
            f"one version is no series: {versions[0]} has none before it.",
            next_step=f"Name two or more. To compare it with {history.anchor} alone: samebox ab {history.system} {history.anchor} "
            f"{versions[0]}",
        )


def _require_runnable(said: str, system: str, version: str, durability: str, workload: Workload) -> None:
    try:
        release = release_of(system, version)
    except InvalidInput as error:
        raise InvalidInput(f"{said}: {error}", next_step=error.next_step) from None
    why = SYSTEMS[system].why_empty(durability, (workload,)) or release.why_not(durability)
    if why:
        raise InvalidInput(f"{said}: it can't be run at level {durability}: {why}.".replace("..", "."))
