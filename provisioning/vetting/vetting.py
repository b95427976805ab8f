"""Vetting: probe the hosts, judge them, replace the rejected ones. It decides about hosts and never about trials.

`vet` = take the probes (probes.py, network.py) + judge them (judge.py). `vet_and_replace` repeats it for replaced hosts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from provisioning.hosts.disk_checks import archive_sha256
from provisioning.hosts.host import Host
from provisioning.hosts.inventory import HostRecord, Inventory
from provisioning.vetting.judge import judge
from provisioning.vetting.metrics import fsync_summary
from provisioning.vetting.network import machine_pairs, take_pairs
from provisioning.vetting.probes import Probes, Progress, Series, find_targets, take_series
from provisioning.vetting.thresholds import Profile, Thresholds
from provisioning.vetting.verdicts import Grade, Row, Verdict, table_rows, worst

VETTING_SCHEMA = 1


@dataclass(frozen=True)
class Rejected:
    """A host that was rejected: which instance, and why. It stays on record after its replacement."""

    host: str
    instance_id: str
    generation: int
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Vetting:
    """The outcome. `rejected` names the hosts that stand rejected now; `history` has every rejected instance, replaced or not.

    `stopped` says why replacing ended with hosts still rejected; empty when there is nothing to say.
    """

    verdicts: tuple[Verdict, ...]
    caveats: tuple[str, ...]
    probes: Probes
    thresholds: Thresholds
    history: tuple[Rejected, ...] = ()
    stopped: str = ""

    @property
    def rejected(self) -> tuple[str, ...]:
        """Names of the hosts with at least one reject, in inventory order."""
        bad = {verdict.host for verdict in self.verdicts if verdict.verdict == "reject"}
        return tuple(host.name for host in self.probes.hosts if host.name in bad)

    @property
    def verdict(self) -> Grade:
        """The worst verdict of all, `not judged` aside."""
        return worst([v.verdict for v in self.verdicts if v.verdict != "not judged"])

    def rows(self) -> list[Row]:
        """The table for people: measured, expected, deviation, rule, verdict."""
        return table_rows(self.verdicts)

    def summary(self) -> dict[str, Any]:
        """What the manifest carries: the verdict, every rejected instance, the thresholds, the caveats."""
        return {
            "verdict": self.verdict,
            "rejected": [asdict(one) for one in self.history],
            "stopped": self.stopped,
            "caveats": list(self.caveats),
            "checks_sha256": archive_sha256(),
            "thresholds": asdict(self.thresholds),
        }

    def documents(self) -> dict[str, dict[str, Any]]:
        """Host name -> its document for vetting/<host>.json: every sample and every verdict."""
        return {host.name: self._document(host) for host in self.probes.hosts}

    def _document(self, host: HostRecord) -> dict[str, Any]:
        own = [verdict for verdict in self.verdicts if verdict.host == host.name]
        return {
            "schema": VETTING_SCHEMA,
            "host": host.name,
            "role": host.role,
            "instance_id": host.instance_id,
            "instance_type": host.instance_type,
            "generation": host.generation,
            "boot_id": self.probes.boot_ids[host.name],
            "verdict": worst([v.verdict for v in own if v.verdict != "not judged"]),
            "verdicts": [asdict(verdict) for verdict in own],
            "series": [_series_document(s) for s in self.probes.series if host in s.hosts],
            "network": [asdict(pair) for pair in self.probes.pairs if host.name in (pair.client, pair.broker)],
            "checks_sha256": archive_sha256(),
            "caveats": list(self.caveats),
        }


def vet(
    hosts: Sequence[Host],
    thresholds: Thresholds,
    profile: Profile | None = None,
    *,
    progress: Progress,
    sleep: Callable[[float], None] = time.sleep,
) -> Vetting:
    """Probes and judges all `hosts`. `profile` None = each instance type's own. Raises HostsFailed if a host can't be asked."""
    return _judged(_measure(hosts, thresholds, profile, progress, sleep), thresholds)


class Replacing(Protocol):
    """What replacement needs of a testbed."""

    def replace(self, names: Sequence[str]) -> Inventory:
        """Puts another machine behind each name and returns the new inventory."""


def vet_and_replace(
    testbed: Replacing,
    hosts: Sequence[Host],
    connect: Callable[[Inventory], Sequence[Host]],
    thresholds: Thresholds,
    profile: Profile | None = None,
    *,
    max_replacements: int,
    progress: Progress,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Vetting, Sequence[Host]]:
    """Vets, replaces only rejected hosts, vets those again and judges all anew; at most `max_replacements` machines in all.

    Returns the vetting and the hosts as they are then: if anything was replaced, the given ones are closed and `connect` made
    new ones. More rejected hosts than replacements left replaces none: the testbed would be unfit either way. An error of the
    testbed (it can't replace) passes through.
    """
    probes = _measure(hosts, thresholds, profile, progress, sleep)
    history: list[Rejected] = []
    left = max_replacements
    while True:
        vetting = _judged(probes, thresholds)
        history += [one for one in _rejections(vetting) if one not in history]
        names = vetting.rejected
        if not names or len(names) > left:
            stopped = f"Replaced none of them: {left} of {max_replacements} replacements left." if names else ""
            return replace(vetting, history=tuple(history), stopped=stopped), hosts
        inventory = testbed.replace(names)
        left -= len(names)
        for host in hosts:
            host.close()
        hosts = connect(inventory)
        fresh = [host for host in hosts if host.name in names]
        others = [host for host in hosts if host.name not in names and host.name in probes.boot_ids]
        anew = _measure(fresh, thresholds, profile, progress, sleep, others, probes.boot_ids)
        probes = _merged(probes, anew, inventory)


def _measure(
    hosts: Sequence[Host],
    thresholds: Thresholds,
    profile: Profile | None,
    progress: Progress,
    sleep: Callable[[float], None],
    others: Sequence[Host] = (),
    boot_ids_of_others: Mapping[str, str] | None = None,
) -> Probes:
    """All probes of `hosts`, and the network between them and `others`, which are probed already."""

    def profile_of(record: HostRecord) -> Profile:
        return profile or thresholds.profile_of(record.instance_type)

    progress(0, 1, "device facts")
    targets, boot_ids = find_targets(hosts, profile_of)
    boot_ids = {**(boot_ids_of_others or {}), **boot_ids}
    names = {host.name for host in hosts}
    pairs = [p for p in machine_pairs([*hosts, *others], boot_ids) if not names.isdisjoint((p[0].name, p[1].name))]
    repeats = max((target.profile.repeats for target in targets), default=0)
    of = 1 + repeats + len(pairs)
    series = take_series(targets, progress=progress, steps=(1, of), sleep=sleep)
    done = iter(range(1 + repeats, of))
    taken = take_pairs(
        pairs,
        boot_ids,
        lambda client: profile_of(client.record),
        progress=lambda text: progress(next(done), of, text),
    )
    progress(of, of, "judging")
    return Probes(tuple(host.record for host in hosts), boot_ids, series, taken)


def _judged(probes: Probes, thresholds: Thresholds) -> Vetting:
    judgement = judge(probes, thresholds)
    vetting = Vetting(judgement.verdicts, judgement.caveats, probes, thresholds)
    return replace(vetting, history=_rejections(vetting))


def _rejections(vetting: Vetting) -> tuple[Rejected, ...]:
    records = {host.name: host for host in vetting.probes.hosts}
    return tuple(
        Rejected(
            name,
            records[name].instance_id,
            records[name].generation,
            tuple(v.sentence for v in vetting.verdicts if v.host == name and v.verdict == "reject"),
        )
        for name in vetting.rejected
    )


def _merged(before: Probes, fresh: Probes, inventory: Inventory) -> Probes:
    """Everything still true of the kept hosts, with the replaced hosts' new probes."""
    new = {host.name for host in fresh.hosts}
    kept = []
    for series in before.series:
        hosts = tuple(host for host in series.hosts if host.name not in new)
        if hosts:
            kept.append(replace(series, hosts=hosts))
    pairs = tuple(pair for pair in before.pairs if pair.client not in new and pair.broker not in new)
    known = {host.name for host in before.hosts}
    return Probes(
        tuple(host for host in inventory.hosts if host.name in known),
        {**before.boot_ids, **fresh.boot_ids},
        (*kept, *fresh.series),
        (*pairs, *fresh.pairs),
    )


def _series_document(series: Series) -> dict[str, Any]:
    return {
        "kind": series.kind,
        "device": series.device,
        "directory": series.directory,
        "facts": dict(series.facts),
        "shared_by": [host.name for host in series.hosts],
        "fsync": fsync_summary(series),
        "repeats": [asdict(repeat) for repeat in series.repeats],
    }
