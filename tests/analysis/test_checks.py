"""Rules and verdicts, on evidence made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.campaign import Trial
from analysis.checks import RULES, Check, judge, validity_of
from analysis.delivery import Delivery
from analysis.evidence import Counts, Evidence, Finding, MachineUse
from analysis.metrics import UNITS, is_withheld, measurements
from analysis.percentiles import Percentile
from analysis.promise import promise
from analysis.records.latencies import CLIENT_DELAY, END_TO_END, FIRST_THIRD, LAST_THIRD
from analysis.records.order import Ordering
from analysis.records.windows import WINDOWS
from tests.analysis.faults.kills import TOOK_EFFECT
from tests.analysis.synthetic_results import CHECKS, DURABILITY, Plan, Shape, trial_document

ROOT = Path(__file__).resolve().parents[2]
NAME = "b01-1-pulsar-l1-steady"


def _evidence(changes: Mapping[str, Any] | None = None, observed: Mapping[str, Any] | None = None) -> Evidence:
    """A sound trial of the default shape, with its document changed as asked."""
    plan = Plan(NAME, 1, 1, "pulsar", changes=dict(changes or {}), observations=dict(observed or {}))
    rows = {"produced": 3200, "consumed": 3200, "hosts": 9}
    trial = Trial(NAME, trial_document(plan, Shape(), 10**18, rows, 3200))
    counts = Counts(
        3200, 3200, 3200, 0, 0, 2400, 2400, 2400, {"sub-0": 2400}, rows, {0: (1600, 1599), 1: (1600, 1599)}, 2400
    )  # fmt: skip
    return Evidence(
        trial=trial,
        block=(trial,),
        counts=counts,
        percentiles=(Percentile(NAME, CLIENT_DELAY, "", 990_000, 2400, 900_000),),
        deliveries=(Delivery(NAME, "sub-0", 3200, 3200, 0, 0, 0, ()),),
        orderings=(Ordering(NAME, "sub-0", 0, 0, None),),
        machines=(MachineUse("broker-1", {"user": 0.3, "idle": 0.69, "steal": 0.002}, 1e6, 1e6, CARD, 2, 0.2, 0.1, 1),),
        daemons=(),
        windows=tuple({"window": n, "p50_ns": 4_000_000 + n % 7, "p99_ns": None} for n in range(WINDOWS)),
        thirds=tuple(Percentile(NAME, metric, "", 500_000, 800, 4_000_003) for metric in (FIRST_THIRD, LAST_THIRD)),
    )


def _verdict(evidence: Evidence, check: str) -> Check:
    declared = [declaration for declaration in CHECKS if declaration["check"] == check]
    (found,) = judge([evidence], declared)
    return found


def test_a_sound_trial_passes_every_check() -> None:
    """With nothing wrong, all 25 checks say so, each in a sentence."""
    checks = judge([_evidence()], [*CHECKS, TOOK_EFFECT])
    assert [c.check for c in checks if c.verdict not in ("valid", "met")] == []
    assert len(checks) == len(RULES) == 25
    assert all(check.sentence.endswith(".") for check in checks)
    assert [c.check for c in checks if not c.evidence] == ["backlog-read", "faults-took-effect"]  # there is none


CARD = {"ena_bw_in_allowance_exceeded": 0.0, "ena_pps_allowance_exceeded": 0.0}
BUSY = {"seconds": 10.0, "cpu_user_s": 6.0, "cpu_system_s": 3.0}
DRIFT = {"component": "topic", "key": "flush.messages", "intended": "1", "effective": "0"}
OTHER_BOOT = {"before": {"broker-1": "a"}, "after": {"broker-1": "b"}}
CANARY = {"host": "broker-1", "data_dir": "/d", "resident_before": 1.0, "resident_after": 0.4}
HOST_LOST = {"rule": "host-lost", "axis": "validity", "reason": "no SSH connection.", "host": "broker-2"}
SILENT = {"rule": "nothing-acknowledged", "axis": "outcome", "reason": "for 30 s.", "host": None}
DAEMON = {"host": "broker-1", "daemon": "broker", "pid_at_start": 7, "pid_at_end": None, "out_of_memory": False}
ROWS_LOST = {"rows": {"produced": 3201, "consumed": 3200, "hosts": 9}}


@pytest.mark.parametrize(
    ("check", "verdict", "changes", "observed"),
    [
        (
            "settings",
            "invalid",
            {"settings": {"intended": {"topic": {"a": "1"}}, "effective": {"topic": {}}, "drift": [DRIFT]}},
            {},
        ),
        ("settings", "unknown", {"settings": {"intended": {}, "effective": {}, "drift": []}}, {}),
        ("cold-caches", "invalid", {}, {"reset": {"canaries": [CANARY]}}),
        ("cold-caches", "unknown", {}, {"reset": {"canaries": []}}),
        ("clock", "invalid", {}, {"clocks": [{"host": "client-1", "bound_before_ns": 1, "bound_after_ns": 2_000_000}]}),
        ("clock", "unknown", {}, {"clocks": []}),
        ("client-cpu", "warn", {}, {"workers": [{"worker": "w", "measured": BUSY, "rows": 1}]}),
        ("hosts-kept", "invalid", {"ended": "aborted", "abort": HOST_LOST}, {}),
        ("same-boot", "invalid", {}, {"boot_ids": OTHER_BOOT}),
        ("rows-complete", "invalid", ROWS_LOST, {}),
        ("independent-count", "invalid", {}, {"messages_stored": 3199}),
        ("independent-count", "unknown", {}, {"messages_stored": None}),
        ("brokers-kept", "not met", {}, {"daemons": [DAEMON]}),
        ("brokers-kept", "not met", {}, {"daemons": [{**DAEMON, "pid_at_end": 7, "out_of_memory": True}]}),
        ("replicas", "not met", {}, {"under_replicated": ["topic-0"]}),
        ("replicas", "unknown", {}, {"under_replicated": None}),
        ("kept-answering", "not met", {"ended": "aborted", "abort": SILENT}, {}),
        ("kept-answering", "unknown", {"ended": "aborted", "abort": HOST_LOST}, {}),
    ],
)
def test_each_rule_fails_on_what_it_is_for(
    check: str, verdict: str, changes: dict[str, Any], observed: dict[str, Any]
) -> None:
    """A document with one thing wrong, and the verdict of the check that looks for it."""
    assert _verdict(_evidence(changes, observed), check).verdict == verdict


@pytest.mark.parametrize(
    ("odd", "verdict"),
    [({}, "valid"), ({"resident_after": 0.4}, "invalid"), ({"resident_before": 0.2}, "invalid")],
)
@pytest.mark.parametrize("which", [0, -1])
def test_one_canary_that_stayed_warm_is_enough(odd: dict[str, float], verdict: str, which: int) -> None:
    """The warmest decides after the reset, the coldest before it, wherever among the others it stands."""
    hosts = [host["name"] for host in _evidence().trial.document["hosts"] if host["role"] == "broker"]
    cold = {"resident_before": 1.0, "resident_after": 0.0}
    canaries = [{"host": host, "data_dir": f"/d-{n}", **cold} for host in hosts for n in (1, 2)]
    canaries[which].update(odd)
    assert _verdict(_evidence({}, {"reset": {"canaries": canaries}}), "cold-caches").verdict == verdict


def test_rules_on_aggregates_fail_on_what_they_are_for() -> None:
    """The checks that read Spark's aggregates, one fault each."""
    sound = _evidence()
    slow = replace(sound, counts=replace(sound.counts, kept_up_in_measure=2387))
    lossy = replace(sound, deliveries=(Delivery(NAME, "sub-0", 3200, 3199, 1, 1, 0, ("0/7",)),))
    disordered = replace(sound, orderings=(Ordering(NAME, "sub-0", 3, 2, "producer 0, partition 1"),))
    holed = replace(sound, counts=replace(sound.counts, per_producer={0: (1600, 1600), 1: (1600, 1599)}))
    kept, robbed = (MachineUse(name, {"steal": share}, None, None) for name, share in (("a", 0.0), ("b", 0.02)))
    stolen = replace(sound, machines=(kept, robbed))
    assert _verdict(slow, "offered-rate").verdict == "not met"
    assert _verdict(lossy, "no-loss").verdict == "not met"
    assert _verdict(lossy, "no-duplicates").verdict == "not met"
    assert _verdict(lossy, "independent-count").verdict == "valid"  # 3,200 stored, 3,199 to 3,200 allowed
    cut_off = replace(_evidence({"ended": "aborted", "abort": SILENT}, {}), deliveries=lossy.deliveries)
    assert _verdict(cut_off, "no-loss").verdict == "unknown"  # it may have been on its way when the trial was ended
    assert _verdict(disordered, "order").verdict == "not met"
    assert _verdict(holed, "rows-complete").verdict == "invalid"
    assert _verdict(stolen, "steal").verdict == "warn"


def test_a_card_that_held_packets_back_spoils_the_measurement() -> None:
    """One counter of one machine is enough; so is a machine whose card counts nothing."""
    sound = _evidence()
    (machine,) = sound.machines
    moved = replace(machine, host="client-1", allowances_exceeded={**CARD, "ena_pps_allowance_exceeded": 3.0})
    found = _verdict(replace(sound, machines=(machine, moved)), "network-allowance")
    assert found.verdict == "invalid"
    assert found.sentence.startswith("3 packets were held back")
    assert "client-1 ena_pps_allowance_exceeded" in found.sentence
    other = replace(machine, host="client-2", allowances_exceeded={})
    found = _verdict(replace(sound, machines=(machine, other)), "network-allowance")
    assert found.verdict == "invalid"
    assert "client-2" in found.sentence


def _declared(check: str, **changes: Any) -> dict[str, Any]:
    (declared,) = (declaration for declaration in CHECKS if declaration["check"] == check)
    return {**declared, **changes}


def test_what_has_no_known_bound_warns_and_says_so() -> None:
    """The declaration's reason stands behind the figures of the trial that failed, and of no other; so does what the type has."""
    sound = _evidence()
    (machine,) = sound.machines
    hosts = {"client-1": {"judged": True, "why": "m5n.large has up to 25 Gbit/s"}}
    declared = _declared("network-allowance", on_failure="warn", why_warn="No bound is known.", hosts=hosts)
    moved = replace(machine, host="client-1", allowances_exceeded={**CARD, "ena_bw_in_allowance_exceeded": 3.0})
    (found,) = judge([replace(sound, machines=(machine, moved))], [declared])
    assert found.verdict == "warn"
    assert found.sentence.endswith(
        "client-1 ena_bw_in_allowance_exceeded (m5n.large has up to 25 Gbit/s). No bound is known."
    )
    (found,) = judge([sound], [declared])
    assert (found.verdict, "No bound" in found.sentence) == ("valid", False)


def test_the_clock_check_says_what_was_followed() -> None:
    """Each source once, where it was recorded; every host's own is in the evidence."""
    bound = {"bound_before_ns": 1, "bound_after_ns": 2}
    hosts = [{"host": "broker-1", "source": "PHC0", **bound}, {"host": "client-1", "source": "PHC0", **bound}]
    found = _verdict(_evidence({}, {"clocks": [*hosts, {"host": "metadata-1", "source": None, **bound}]}), "clock")
    assert found.sentence.endswith("the bound is 1 ms. Followed: PHC0.")
    assert found.evidence["sources"] == {"broker-1": "PHC0", "client-1": "PHC0"}


def test_packets_to_local_services_are_no_messages() -> None:
    """What the card dropped on the way to name, time and metadata services held back no message."""
    sound = _evidence()
    (machine,) = sound.machines
    moved = replace(machine, allowances_exceeded={**CARD, "ena_linklocal_allowance_exceeded": 9.0})
    assert _verdict(replace(sound, machines=(moved,)), "network-allowance").verdict == "valid"


def test_a_host_that_was_promised_no_cpu_is_not_judged_for_steal() -> None:
    """The sentence names it, with the reason; what is taken from any other host counts."""
    kept, robbed = (
        MachineUse(name, {"steal": share}, None, None) for name, share in (("broker-1", 0.0), ("metadata-1", 0.5))
    )
    evidence = replace(_evidence(), machines=(kept, robbed))
    why = {"judged": False, "why": "t3.medium is burstable"}
    (found,) = judge([evidence], [_declared("steal", on_failure="invalid", hosts={"metadata-1": why})])
    assert (found.verdict, found.sentence.endswith("Not judged: metadata-1 (t3.medium is burstable).")) == (
        "valid",
        True,
    )
    (found,) = judge([evidence], [_declared("steal", on_failure="invalid", hosts={"broker-1": why})])
    assert found.verdict == "invalid"


@pytest.mark.parametrize(
    ("check", "counted"), [("independent-count", "messages_stored"), ("replicas", "under_replicated")]
)
def test_a_count_that_failed_says_why(check: str, counted: str) -> None:
    """In the system's own words; results of earlier versions don't have them."""
    for said in ({}, {"not_counted": {counted: "pulsar: GET /stats: status 500"}}):
        found = _verdict(_evidence({}, {counted: None, **said}), check)
        assert found.verdict in ("unknown", "not met")
        assert ("status 500" in found.sentence) == bool(said)


@pytest.mark.parametrize(
    "check", ["send-delay", "steal", "client-cpu", "foreign-load", "cpu-pressure", "independent-count"]
)
def test_what_the_system_cut_off_is_not_held_against_the_measurement(check: str) -> None:
    """A trial that the system ended by not answering stays in the comparison; the same gaps in another trial are unknown."""
    gaps = {"messages_stored": None, "workers": [{"worker": "w", "cpu_s": None, "wall_s": None}]}
    bare = replace(_evidence({}, gaps), percentiles=(), machines=())
    aborted = replace(bare, trial=_evidence({"ended": "aborted", "abort": SILENT}, gaps).trial)
    assert _verdict(bare, check).verdict == "unknown"
    assert _verdict(aborted, check).verdict == "valid"


@pytest.mark.parametrize(("stored", "verdict"), [(None, "valid"), (1600, "valid"), (3200, "valid"), (3201, "invalid")])
def test_a_count_that_ended_with_its_daemon_contradicts_nobody(stored: int | None, verdict: str) -> None:
    """With a daemon gone its counter may be missing or have begun anew; what is too many is too many all the same."""
    found = _verdict(_evidence({}, {"messages_stored": stored, "daemons": [DAEMON]}), "independent-count")
    assert found.verdict == verdict
    assert stored in (3200, 3201) or "broker on broker-1" in found.sentence


def test_a_message_stored_twice_was_received_twice() -> None:
    """A client's second try after a broker's death: the broker counts it, and so do the consumers."""
    sound = _evidence({}, {"messages_stored": 3203})
    repeated = replace(sound, deliveries=(Delivery(NAME, "sub-0", 3200, 3203, 0, 3, 0, ()),))
    assert _verdict(sound, "independent-count").verdict == "invalid"
    assert _verdict(repeated, "independent-count").verdict == "valid"


def test_another_host_in_the_block_is_invalid() -> None:
    """A host that was replaced between two trials of a block breaks the pairing."""
    evidence = _evidence()
    hosts = [{**host, "instance_id": "another"} for host in evidence.trial.document["hosts"]]
    other = Trial("b01-2-kafka-l1-steady", {**evidence.trial.document, "hosts": hosts})
    found = _verdict(replace(evidence, block=(evidence.trial, other)), "same-boot")
    assert (found.verdict, found.evidence) == ("invalid", {"differs_from": ["b01-2-kafka-l1-steady"]})


def test_a_rule_that_crashes_is_unknown() -> None:
    """Whatever a rule trips over, the trial isn't shown to be sound; the sentence names the error."""

    def broken(_evidence: Evidence, _bounds: Mapping[str, Any]) -> Finding:
        raise ZeroDivisionError("division by zero")

    (found,) = judge([_evidence()], [{"check": "steal", "axis": "validity", "on_failure": "warn"}], {"steal": broken})
    assert (found.verdict, validity_of([found], NAME)) == ("unknown", "unknown")
    assert "ZeroDivisionError" in found.sentence


def test_a_missing_observation_or_bound_is_unknown() -> None:
    """An observation that was never made and a bound that was never declared are both named."""
    document = dict(_evidence().trial.document)
    document["observations"] = {}
    bare = replace(_evidence(), trial=Trial(NAME, document))
    assert "'clocks'" in _verdict(bare, "clock").sentence
    (found,) = judge([_evidence()], [{"check": "steal", "axis": "validity", "on_failure": "warn"}])
    assert (found.verdict, "'share'" in found.sentence) == ("unknown", True)


def test_a_check_without_a_rule_is_unknown() -> None:
    """A declared check that this version can't judge is never passed over."""
    (found,) = judge([_evidence()], [{"check": "phase-of-moon", "axis": "validity"}])
    assert found.verdict == "unknown"


def test_validity_is_the_worst_verdict() -> None:
    """invalid over unknown over warn over valid; outcomes have no part in it; nothing declared is unknown."""
    checks = [
        Check("t", str(n), "validity", verdict, "") for n, verdict in enumerate(("valid", "warn", "unknown", "invalid"))
    ]
    assert [validity_of(checks[: n + 1], "t") for n in range(4)] == ["valid", "warn", "unknown", "invalid"]
    assert validity_of([Check("t", "order", "outcome", "not met", "")], "t") == "unknown"


def test_end_to_end_below_twice_the_clock_bound_is_withheld() -> None:
    """A bound of 2.5 us withholds 4 us and lets 6 us through."""
    below, above = (Percentile(NAME, END_TO_END, "sub-0", 500_000, 2400, value) for value in (4_000, 6_000))
    evidence = replace(_evidence(), percentiles=(below, above))
    assert is_withheld(evidence, below)
    assert not is_withheld(evidence, above)
    assert [m.value for m in measurements(evidence) if m.unit == "ms"] == [0.006]


def test_every_metric_is_in_the_dictionary() -> None:
    """docs/metrics.md defines each metric with its unit, and no other."""
    lines = (ROOT / "docs" / "metrics.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    assert {row[0].strip("`").removesuffix("_<percentile>"): row[1] for row in rows} == dict(UNITS)


def test_what_no_broker_acknowledged_is_not_called_acknowledged() -> None:
    """At durability none a lost message is counted, and said to have left the client only."""
    lost = replace(
        _evidence({"durability": DURABILITY["none"]}), deliveries=(Delivery(NAME, "sub-0", 3200, 3198, 2, 0, 0, ()),)
    )
    found = _verdict(lost, "no-loss")
    assert (found.verdict, found.sentence) == (
        "not met",
        "2 of 3,200 messages that left the client unacknowledged were never received.",
    )
    assert "were acknowledged" not in _verdict(lost, "offered-rate").sentence
    assert "were acknowledged" in _verdict(_evidence(), "offered-rate").sentence


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("1", "acknowledged when a quorum of brokers has it, on disk"),
        ("2-bypass", "acknowledged when a quorum of brokers has it, in memory or page cache, the journal bypassed"),
        ("none", "nothing is acknowledged: a message counts when it has left the client, and no broker has answered"),
    ],
)
def test_promises_in_words(name: str, words: str) -> None:
    """What a reader must know of a durability before its figures."""
    assert promise(DURABILITY[name]) == words


@pytest.mark.parametrize(("rate_per_s", "verdict"), [(20_000, "met"), (None, "not met")])
def test_a_search_is_met_by_the_rate_that_it_confirmed(rate_per_s: int | None, verdict: str) -> None:
    """It has judged its last run itself, with what was on its way at both ends; here only a rate or none is left to say."""
    reason = "" if rate_per_s else "acknowledged 9 of 20,000 messages a second; 7 messages were given up or lost"
    attempt = {"rate_per_s": 20_000, "acked_per_s": 19_900.0, "sustained": rate_per_s is not None, "reason": reason}
    searched = _evidence({}, {"search": {"rate_per_s": rate_per_s, "attempts": [attempt]}})
    workload = {**searched.trial.workload, "pacing": "search"}
    trial = replace(searched.trial, document={**searched.trial.document, "workload": workload})
    found = _verdict(replace(searched, trial=trial), "offered-rate")
    assert found.verdict == verdict
    assert ("100.00% of those scheduled in the measure phase were acknowledged" in found.sentence) == (verdict == "met")
    assert found.sentence.endswith(f"The last run: {reason}.") == (verdict == "not met")
