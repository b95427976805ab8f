"""What a rule says about a device (finding) and about a host (verdict), and the rows in which people read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from provisioning.vetting.metrics import Metric

Grade = Literal["accept", "warn", "reject", "not judged"]
_ORDER: tuple[Grade, ...] = ("accept", "not judged", "warn", "reject")


@dataclass(frozen=True)
class Finding:
    """One rule on one device. `measured` and `expected` are in the metric's base unit (bytes/s, ns, shares)."""

    metric: str
    unit: str
    measured: float | None
    expected: float | None
    deviation: float | None
    rule: str
    verdict: Grade
    sentence: str
    shown: tuple[str, str] = ("", "")  # measured and expected as people read them

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
    ) -> Finding:
        """A finding about a metric; deviation is signed and relative to `expected`, which a `bound` has none of."""
        deviation = None if expected is None or bound else (measured - expected) / expected
        shown = (metric.show(measured), "" if expected is None else metric.show(expected))
        return cls(metric.label, metric.unit, measured, expected, deviation, rule, verdict, sentence, shown)


@dataclass(frozen=True)
class Verdict:
    """A finding as it stands for one host."""

    host: str
    device: str
    metric: str
    measured: float | None
    expected: float | None
    deviation: float | None
    rule: str
    verdict: Grade
    sentence: str
    shown: tuple[str, str]

    @classmethod
    def of(cls, finding: Finding, host: str, device: str, prefix: str) -> Verdict:
        """`finding` on `device` of `host`; `prefix` starts the sentence."""
        shown = finding.shown
        if shown == ("", "") and finding.measured is not None and finding.unit == "%":
            shown = (f"{finding.measured:.1%}", "" if finding.expected is None else f"{finding.expected:.0%}")
        return cls(
            host,
            device,
            finding.metric,
            finding.measured,
            finding.expected,
            finding.deviation,
            finding.rule,
            finding.verdict,
            prefix + finding.sentence,
            shown,
        )


@dataclass(frozen=True)
class Row:
    """One line of the table that a terminal shows; all text."""

    host: str
    device: str
    metric: str
    measured: str
    expected: str
    deviation: str
    rule: str
    verdict: str
    sentence: str


def grade_order(grade: Grade) -> int:
    """The worse a grade, the higher."""
    return _ORDER.index(grade)


def worst(grades: list[Grade]) -> Grade:
    """reject over warn over not judged over accept; nothing at all is accept."""
    return max(grades, key=_ORDER.index, default="accept")


def table_rows(verdicts: tuple[Verdict, ...]) -> list[Row]:
    """The verdicts as text, in the order judged; hosts for which a line would be the same (a shared disk) share one."""
    hosts: dict[tuple[str, ...], list[str]] = {}
    for v in verdicts:
        deviation = "-" if v.deviation is None else f"{v.deviation:+.1%}"
        line = (
            v.device,
            v.metric or "-",
            v.shown[0] or "-",
            v.shown[1] or "-",
            deviation,
            v.rule,
            v.verdict,
            v.sentence,
        )
        hosts.setdefault(line, []).append(v.host)
    return [Row(", ".join(dict.fromkeys(names)), *line) for line, names in hosts.items()]
