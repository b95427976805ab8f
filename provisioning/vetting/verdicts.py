"""What a rule says about a device, and what all of them say about a set of hosts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from provisioning.hosts.disk_checks import archive_sha256
from provisioning.hosts.inventory import HostRecord
from provisioning.vetting.metrics import Metric, fsync_summary
from provisioning.vetting.probes import Probes, Series
from provisioning.vetting.thresholds import Thresholds

VETTING_SCHEMA = 1
Grade = Literal["accept", "warn", "reject", "not judged"]
_ORDER: tuple[Grade, ...] = ("accept", "not judged", "warn", "reject")


@dataclass(frozen=True)
class Verdict:
    """What one rule says about one device. `measured` and `expected` are in the metric's base unit (bytes/s, ns, shares).

    `shown`: both as people read them. All of these are empty for what has no figure. A rule leaves `host` and `device` empty; `on`
    fills them in.
    """

    metric: str
    rule: str
    verdict: Grade
    sentence: str
    measured: float | None = None
    expected: float | None = None
    deviation: float | None = None
    shown: tuple[str, str] = ("", "")
    host: str = ""
    device: str = ""

    @classmethod
    def of(
        cls,
        metric: Metric,
        measured: float,
        expected: float | None,
        rule: str,
        verdict: Grade,
        sentence: str,
        *,
        bound: bool = False,
    ) -> Verdict:
        """On a metric. The deviation is signed and relative to `expected`; there is none if that is a `bound`."""
        deviation = None if expected is None or bound else (measured - expected) / expected
        shown = (metric.show(measured), "" if expected is None else metric.show(expected))
        return cls(metric.label, rule, verdict, sentence, measured, expected, deviation, shown)

    @classmethod
    def of_share(
        cls, metric: str, measured: float, expected: float, rule: str, verdict: Grade, sentence: str
    ) -> Verdict:
        """On a share with its bound."""
        shown = (f"{measured:.1%}", f"{expected:.0%}")
        return cls(metric, rule, verdict, sentence, measured, expected, shown=shown)

    def on(self, series: Series) -> list[Verdict]:
        """The verdict as it stands for each host that uses the device."""
        shared = f"shared by {len(series.hosts)} hosts: " if len(series.hosts) > 1 else ""
        sentence = shared + self.sentence
        return [replace(self, host=host.name, device=series.device, sentence=sentence) for host in series.hosts]


@dataclass(frozen=True)
class Rejected:
    """A host that was rejected: which instance, and why. It stays on record after its replacement."""

    host: str
    instance_id: str
    generation: int
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Vetting:
    """The outcome. `caveats`: what a reader of any figure from this testbed must know. `replaced`: instances rejected before.

    `stopped` says why replacing ended with hosts still rejected; empty when there is nothing to say.
    """

    verdicts: tuple[Verdict, ...]
    caveats: tuple[str, ...]
    probes: Probes
    thresholds: Thresholds
    replaced: tuple[Rejected, ...] = ()
    stopped: str = ""

    @property
    def rejected(self) -> tuple[str, ...]:
        """Names of the hosts with at least one reject now, in inventory order."""
        bad = {verdict.host for verdict in self.verdicts if verdict.verdict == "reject"}
        return tuple(host.name for host in self.probes.hosts if host.name in bad)

    @property
    def history(self) -> tuple[Rejected, ...]:
        """Every rejected instance, replaced or not."""
        now = (
            Rejected(
                host.name,
                host.instance_id,
                host.generation,
                tuple(v.sentence for v in self.verdicts if v.host == host.name and v.verdict == "reject"),
            )
            for host in self.probes.hosts
            if host.name in self.rejected
        )
        return (*self.replaced, *(one for one in now if one not in self.replaced))

    @property
    def verdict(self) -> Grade:
        """The worst verdict of all, `not judged` aside."""
        return _worst(self.verdicts)

    def rows(self) -> list[Verdict]:
        """The verdicts for people, in the order judged; hosts that share a disk share its line, all of them in `host`."""
        hosts: dict[Verdict, list[str]] = {}
        for verdict in self.verdicts:
            hosts.setdefault(replace(verdict, host=""), []).append(verdict.host)
        return [replace(each, host=", ".join(dict.fromkeys(names))) for each, names in hosts.items()]

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
            "verdict": _worst(own),
            "verdicts": [asdict(verdict) for verdict in own],
            "series": [
                {**one.to_json(), "facts": dict(one.facts), "shared_by": one.host_names, "fsync": fsync_summary(one)}
                for one in self.probes.series
                if host in one.hosts
            ],
            "network": [asdict(pair) for pair in self.probes.pairs if host.name in (pair.client, pair.broker)],
            "checks_sha256": archive_sha256(),
            "caveats": list(self.caveats),
        }


def grade_order(grade: Grade) -> int:
    """The worse a grade, the higher: reject over warn over not judged over accept."""
    return _ORDER.index(grade)


def _worst(verdicts: Iterable[Verdict]) -> Grade:
    judged = (verdict.verdict for verdict in verdicts if verdict.verdict != "not judged")
    return max(judged, key=grade_order, default="accept")
