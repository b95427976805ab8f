"""The rules of vetting on recorded samples: each accepts what is fine, and rejects or warns about what isn't."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from provisioning.hosts.inventory import DataDir, HostRecord, Role, SshAddress
from provisioning.vetting import Thresholds, Verdict, load_thresholds
from provisioning.vetting.judge import judge
from provisioning.vetting.metrics import METRICS, fsync_summary, median_repeat, percentile
from provisioning.vetting.probes import Pair, Probes, Repeat, Series

MB = 1e6
PRESET_2XLARGE = 327_000_000


def record(name: str, role: Role = "broker", instance_type: str = "i3en.2xlarge", generation: int = 1) -> HostRecord:
    """A host with one owned data disk."""
    return HostRecord(
        name=name,
        role=role,
        ssh=SshAddress("127.0.0.1", 22, "samebox", "ssh-ed25519 AAAA"),
        address="127.0.0.1",
        root="/srv/samebox",
        data_dirs=(DataDir("/data/1", "/dev/nvme1n1", "/data", owned=True),),
        instance_id=f"i-{name}-{generation}",
        instance_type=instance_type,
        generation=generation,
    )


def disk(
    *hosts: HostRecord,
    write: Sequence[float] = (330 * MB, 331 * MB, 332 * MB),
    read: Sequence[float] = (660 * MB, 661 * MB, 662 * MB),
    p50_us: Sequence[float] = (60, 60, 60),
    p99_ms: Sequence[float] = (0.1, 0.1, 0.1),
    busy: float = 0.01,
    rotational: bool = False,
    errors: dict[str, str] | None = None,
) -> Series:
    """A disk's series; every repeat has 1,000 flushes, 20 of them at p99."""
    repeats = []
    for index in range(len(write)):
        slow_ns, usual_ns = int(p99_ms[index] * 1e6), int(p50_us[index] * 1e3)
        results: dict[str, Any] = {
            "idle": {"busy_share": busy},
            "throughput": {"write": {"bytes_per_s": write[index]}, "read": {"bytes_per_s": read[index]}},
            "fsync": {"samples_ns": [slow_ns] * 20 + [usual_ns] * 980},
        }
        for probe in errors or {}:
            del results[probe]
        repeats.append(Repeat(0, results, errors or {}))
    facts = {"disk": "nvme1n1", "rotational": rotational, "write_cache": "write through"}
    return Series("disk", "/data/1", facts, hosts, tuple(repeats))


def probes(*series: Series, machines: dict[str, str] | None = None, pairs: tuple[Pair, ...] = ()) -> Probes:
    """The hosts of `series`, each its own machine unless `machines` says otherwise."""
    hosts = tuple(dict.fromkeys(host for one in series for host in one.hosts))
    return Probes(hosts, machines or {host.name: f"boot-{host.name}" for host in hosts}, series, pairs)


def found(measured: Probes, rule: str, host: str, metric: str = "", thresholds: Thresholds | None = None) -> Verdict:
    """The only verdict of a rule on a host (and metric)."""
    verdicts = judge(measured, thresholds or load_thresholds()).verdicts
    matching = [v for v in verdicts if (v.rule, v.host) == (rule, host) and metric in (v.metric, "")]
    assert len(matching) == 1, matching
    return matching[0]


@pytest.mark.parametrize(
    ("write", "verdict"),
    [
        (PRESET_2XLARGE, "accept"),
        (0.85 * PRESET_2XLARGE, "accept"),
        (0.8499 * PRESET_2XLARGE, "reject"),
        (2e9, "accept"),
    ],
)
def test_preset(write: float, verdict: str) -> None:
    """Below 85 % of the instance type's preset rejects; exactly 85 % and any figure above don't."""
    one = found(probes(disk(record("broker-1"), write=(write,) * 3)), "preset", "broker-1")
    assert one.verdict == verdict
    assert (one.measured, one.expected) == (write, PRESET_2XLARGE)
    assert one.deviation == pytest.approx(write / PRESET_2XLARGE - 1)
    assert "StreamNative's report of 2020" in one.sentence


def test_no_preset_is_said_and_not_judged() -> None:
    """An instance type that nobody has measured is neither accepted nor rejected against a preset."""
    measured = probes(disk(record("broker-1", instance_type="i3en.6xlarge")))
    one = found(measured, "preset", "broker-1")
    assert (one.verdict, one.expected) == ("not judged", None)
    assert one.sentence.startswith("No preset for instance type i3en.6xlarge")
    (caveat,) = judge(measured, load_thresholds()).caveats
    assert "no preset for instance type i3en.6xlarge" in caveat
    assert "a fleet that is slow as a whole" in caveat


def test_what_short_probes_do_not_tell_is_a_caveat() -> None:
    """Said of the vetting whatever the hosts; probes of each type's own size have nothing to add."""
    hosts = [record(f"broker-{at}") for at in (1, 2, 3)]
    measured = Probes(tuple(hosts), {h.name: f"boot-{h.name}" for h in hosts}, tuple(disk(h) for h in hosts), ())
    thresholds = load_thresholds()
    (caveat,) = judge(measured, thresholds.probing_by("short", where="a key")).caveats
    assert "1 GiB" in caveat and "nothing of the rate at which they go on" in caveat and "a p99.9" in caveat
    assert judge(measured, thresholds).caveats == ()


def fleet(*writes: float) -> Probes:
    """One broker per figure; all else equal."""
    return probes(*(disk(record(f"broker-{n}"), write=(write * MB,) * 3) for n, write in enumerate(writes, 1)))


@pytest.mark.parametrize(
    ("writes", "verdict"),
    [
        ((287, 355, 355), "reject"),  # 19.2 % below the others; of three the bound is 18.9 %
        ((289, 355, 355), "warn"),  # 18.6 % below
        ((300, 355, 355), "accept"),  # 15.5 % below: chance does that in more than 5 % of fleets
        ((500, 355, 355), "accept"),  # better is never bad
        ((300, 355, 290), "accept"),  # it is compared with the others' median, whatever that is of
        ((340, 400), "accept"),  # 15 % below the only other
        ((300, 400), "warn"),  # 25 % below, but of two nobody can say which one is off
        ((290, 355.0, 355.5, 354.5, 355.2, 354.8), "reject"),  # 18.3 % below; of six the bound is 18.0 %
        ((293, 355.0, 355.5, 354.5, 355.2, 354.8), "warn"),
        ((330, 355.0, 355.5, 354.5, 355.2, 354.8), "accept"),  # that five are alike by luck makes the sixth no worse
        ((330, 355, 320, 390, 345, 372), "accept"),
    ],
)
def test_fleet(writes: tuple[float, ...], verdict: str) -> None:
    """Against the median of the others only the bad side is judged, by bounds that few healthy fleets of that size cross."""
    one = found(fleet(*writes), "fleet", "broker-1", "dd write")
    assert one.verdict == verdict


def test_a_rejection_says_how_often_chance_does_that() -> None:
    """The sentence has the bound, and how many healthy fleets of this size cross it."""
    one = found(fleet(250, 355, 355), "fleet", "broker-1", "dd write")
    assert one.sentence == (
        "dd write 250 MB/s is 29.6% worse than the median 355 MB/s of 2 others"
        " (bound 18.9%, crossed in 1% of healthy fleets of 3)."
    )


@pytest.mark.parametrize(("share", "verdict"), [(0.14, "warn"), (0.05, "accept"), (-0.14, "accept")])
def test_a_disk_that_is_a_little_worse_in_everything_is_warned_about(share: float, verdict: str) -> None:
    """Each figure alone passes at 14 % worse; three at once are no chance."""
    slow = disk(
        record("broker-1"),
        write=(331 * MB * (1 - share),) * 3,
        read=(661 * MB * (1 - share),) * 3,
        p50_us=(60 / (1 - share),) * 3,
    )
    measured = probes(slow, *(disk(record(f"broker-{n}")) for n in range(2, 7)))
    verdicts = [v for v in judge(measured, load_thresholds()).verdicts if (v.host, v.rule) == ("broker-1", "fleet")]
    assert {v.metric: v.verdict for v in verdicts} == {
        **dict.fromkeys(("dd write", "dd read", "fsync p50", "fsync p99"), "accept"),
        "all figures": verdict,
    }


def test_fleet_of_one_is_not_judged() -> None:
    """A single disk has no fleet."""
    assert found(fleet(355), "fleet", "broker-1", "dd write").verdict == "not judged"


def test_fleet_compares_like_with_like() -> None:
    """A slower instance type among the metadata hosts doesn't move the brokers' median, nor is it judged by it."""
    brokers = [disk(record(f"broker-{n}"), write=(355 * MB,) * 3) for n in (1, 2, 3)]
    slow = [disk(record(f"metadata-{n}", "metadata", "i3en.large"), write=(166 * MB,) * 3) for n in (1, 2, 3, 4)]
    measured = probes(*brokers, *slow)
    assert found(measured, "fleet", "broker-1", "dd write").verdict == "accept"
    assert found(measured, "fleet", "metadata-1", "dd write").verdict == "accept"


@pytest.mark.parametrize(
    ("p99_ms", "rotational", "verdict"),
    [
        ((0.1, 0.1, 0.1), False, "accept"),
        ((2.1, 2.1, 2.1), False, "warn"),
        ((2.1, 2.1, 2.1), True, "accept"),
        ((10.0, 10.0, 10.0), True, "accept"),
        ((10.1, 10.1, 10.1), True, "reject"),
        ((80.0, 0.1, 0.1), False, "accept"),  # one disturbed repeat
        ((80.0, 80.0, 0.1), False, "reject"),  # two are a pattern
    ],
)
def test_fsync(p99_ms: tuple[float, ...], rotational: bool, verdict: str) -> None:
    """The median repeat's p99 above 10 ms rejects, above 2 ms warns on solid state; one bad repeat decides nothing."""
    measured = probes(disk(record("broker-1"), p99_ms=p99_ms, rotational=rotational))
    assert found(measured, "fsync", "broker-1").verdict == verdict


@pytest.mark.parametrize(
    ("write", "verdict", "bound"),
    [
        ((330 * MB, 331 * MB, 332 * MB), "accept", 0.10),
        ((290 * MB, 330 * MB, 370 * MB), "warn", 0.10),  # 12 %
        ((270 * MB, 330 * MB, 390 * MB), "reject", 0.15),  # 18 %
    ],
)
def test_repeats(write: tuple[float, ...], verdict: str, bound: float) -> None:
    """Repeats that vary by more than 10 % are warned about, by more than 15 % they make a disk unstable."""
    one = found(probes(disk(record("broker-1"), write=write)), "repeats", "broker-1", "dd write variation")
    assert (one.verdict, one.expected) == (verdict, bound)


def with_flushes(*repeats: Sequence[int], rotational: bool = False) -> Probes:
    """One disk whose repeats have these flushes (ns)."""
    one = disk(record("broker-1"), rotational=rotational)
    flushed = [
        replace(repeat, results={**repeat.results, "fsync": {"samples_ns": list(samples)}})
        for repeat, samples in zip(one.repeats, repeats, strict=True)
    ]
    return probes(replace(one, repeats=tuple(flushed)))


def flushes(count: int, **slow: int) -> list[int]:
    """`count` flushes of 60 us, of which some take as many ms as their names say: flushes(20_000, ms_500=199)."""
    stalls = [int(name.removeprefix("ms_")) * 10**6 for name, times in slow.items() for _ in range(times)]
    return [*stalls, *[60_000] * (count - len(stalls))]


FINE = flushes(20_000)


@pytest.mark.parametrize(
    ("repeats", "verdicts"),
    [
        # p99.9, max, stalls a minute
        ((FINE, FINE, FINE), ("accept", "accept", "accept")),
        ((flushes(20_000, ms_1000=150),) * 3, ("reject", "accept", "reject")),
        ((flushes(20_000, ms_1001=150),) * 3, ("reject", "reject", "reject")),
        ((flushes(20_000, ms_500=199),) * 3, ("reject", "accept", "reject")),
        ((flushes(20_000, ms_65=21),) * 3, ("reject", "accept", "accept")),
        ((flushes(20_000, ms_11=21),) * 3, ("warn", "accept", "accept")),
        ((flushes(20_000, ms_1500=1),) * 3, ("accept", "reject", "reject")),  # rare, and as long as an outage
        ((flushes(20_000, ms_150=1),) * 3, ("accept", "accept", "reject")),  # one in 1.3 s of flushing
        ((flushes(20_000, ms_150=1), FINE, FINE), ("accept", "accept", "warn")),  # somebody else's, perhaps
        ((flushes(20_000, ms_100=1),) * 3, ("accept", "accept", "accept")),  # not longer than 100 ms
        ((flushes(1_000, ms_150=1), flushes(1_000), flushes(1_000)), ("not judged", "accept", "warn")),
    ],
)
def test_the_tail_of_the_flushes_is_judged(repeats: tuple[list[int], ...], verdicts: tuple[str, ...]) -> None:
    """What a p99 can't see: one flush in a thousand, the longest one, and how often flushing stands still."""
    found_there = {
        v.metric: v.verdict for v in judge(with_flushes(*repeats), load_thresholds()).verdicts if v.rule == "stalls"
    }
    assert found_there == dict(zip(("fsync p99.9", "fsync max", "fsync stalls"), verdicts, strict=True))


def test_stalls_are_said_in_figures() -> None:
    """How many of how many, the longest, and the rate with its bound."""
    one = found(with_flushes(*(flushes(20_000, ms_1000=150),) * 3), "stalls", "broker-1", "fsync stalls")
    assert one.sentence == (
        "450 of 60,000 flushes took longer than 100 ms, the longest 1,000 ms;"
        " 59.5 a minute of flushing in the median repeat (bound 6)."
    )
    assert one.shown == ("59.5 /min", "6 /min")


def test_stalls_on_a_shared_machine_only_warn() -> None:
    """Beside other hosts' work a stall isn't the disk's own for certain."""
    measured = shared(p99_ms=(150, 150, 150), busy=0.5)
    for metric in ("fsync stalls", "fsync max"):
        assert found(measured, "stalls", "broker-1", metric).verdict in ("warn", "accept")
    assert found(measured, "stalls", "broker-1", "fsync stalls").verdict == "warn"


def test_flush_that_may_not_be_real() -> None:
    """A median flush below 10 us warns and names the device's write cache mode."""
    measured = probes(disk(record("broker-1"), p50_us=(9, 9, 9)))
    one = found(measured, "flush", "broker-1")
    assert one.verdict == "warn"
    assert "the flush may not be real (write cache mode write through)" in one.sentence


def test_a_busy_host_is_warned_about_with_the_figure() -> None:
    """Load before the probe is told, and doesn't reject."""
    one = found(probes(disk(record("broker-1"), busy=0.37)), "idle", "broker-1")
    assert (one.verdict, one.measured) == ("warn", 0.37)
    assert "37%" in one.sentence


def test_a_probe_that_could_not_be_taken_rejects() -> None:
    """A disk that can't be measured isn't accepted, and the reason is printed."""
    measured = probes(disk(record("broker-1"), errors={"throughput": "/data/1: its file system has no direct I/O"}))
    one = found(measured, "probe", "broker-1")
    assert one.verdict == "reject"
    assert "no direct I/O" in one.sentence
    lenient = replace(load_thresholds(), probe_rule=replace(load_thresholds().probe_rule, verdict="warn"))
    assert found(measured, "probe", "broker-1", thresholds=lenient).verdict == "warn"


def shared(**figures: Any) -> Probes:
    """Three brokers on one disk of one machine."""
    hosts = [record(f"broker-{n}", instance_type="local") for n in (1, 2, 3)]
    return probes(disk(*hosts, **figures), machines={host.name: "boot-1" for host in hosts})


def test_one_machine_carries_the_banner_and_softens_variation() -> None:
    """When all brokers share a machine, unstable repeats warn, every host gets the verdict, and the caveat is there."""
    measured = shared(write=(200 * MB, 900 * MB, 500 * MB))
    assert judge(measured, load_thresholds()).caveats == (
        "one machine, one disk: this shows the method, it doesn't compare brokers",
    )
    for host in ("broker-1", "broker-2", "broker-3"):
        one = found(measured, "repeats", host, "dd write variation")
        assert one.verdict == "warn"
        assert one.sentence.startswith("shared by 3 hosts: ")
        assert "all brokers share one machine" in one.sentence


@pytest.mark.parametrize(("busy", "verdict"), [(0.02, "reject"), (0.9, "warn")])
def test_slow_flush_on_one_machine(busy: float, verdict: str) -> None:
    """A shared disk is rejected for slow flushes only if the machine was idle: else the load was measured."""
    assert found(shared(p99_ms=(12, 12, 12), busy=busy), "fsync", "broker-1").verdict == verdict


def test_separate_busy_machines_are_still_rejected() -> None:
    """A dedicated broker has no excuse: a slow flush rejects it also when it was busy, and there is no banner."""
    measured = probes(disk(record("broker-1"), p99_ms=(12, 12, 12), busy=0.9), disk(record("broker-2")))
    assert found(measured, "fsync", "broker-1").verdict == "reject"
    assert judge(measured, load_thresholds()).caveats == ()


def test_network_pairs() -> None:
    """A pair far below the median pair warns; one without a connection has the reason."""

    def pair(client: str, rate: float | None) -> Pair:
        result = None if rate is None else {"bytes_per_s": rate, "round_trips_ns": [100_000]}
        return Pair(
            client, "broker-1", (f"boot-{client}", "boot-broker-1"), result, "" if result else "no route to host"
        )

    rates = {"client-1": 600 * MB, "client-2": 1200 * MB, "client-3": 1200 * MB, "client-4": None}
    pairs = tuple(pair(client, rate) for client, rate in rates.items())
    measured = probes(disk(record("broker-1")), pairs=pairs)
    verdicts = [v for v in judge(measured, load_thresholds()).verdicts if v.rule == "network"]
    assert [(v.host, v.verdict) for v in verdicts if v.metric == "stream"] == [
        ("client-1", "warn"),
        ("client-2", "accept"),
        ("client-3", "accept"),
    ]
    assert [(v.host, v.verdict, v.sentence) for v in verdicts if v.metric == "network"] == [
        ("client-4", "reject", "no route to host.")
    ]


def test_outcome_names_rejected_hosts_and_keeps_every_sample() -> None:
    """The vetting's documents are JSON with all samples; a fine host is accepted, a bad one rejected by name."""
    thresholds = load_thresholds()
    measured = probes(disk(record("broker-1")), disk(record("broker-2"), p99_ms=(12, 12, 12)), disk(record("broker-3")))
    outcome = judge(measured, thresholds)
    assert (outcome.rejected, outcome.verdict) == (("broker-2",), "reject")
    documents = json.loads(json.dumps(outcome.documents()))
    assert documents["broker-1"]["verdict"] == "accept"
    assert documents["broker-2"]["verdict"] == "reject"
    for repeat in documents["broker-2"]["series"][0]["repeats"]:
        assert len(repeat["results"]["fsync"]["samples_ns"]) == 1000
    assert json.loads(json.dumps(outcome.summary()))["thresholds"]["fsync_rule"]["reject_p99_ms"] == 10.0
    row = next(row for row in outcome.rows() if row.host == "broker-2" and row.rule == "fsync")
    assert (row.shown, row.verdict) == (("12.0 ms", "10.0 ms"), "reject")


def test_a_shared_disk_takes_one_line_in_the_table() -> None:
    """Hosts with the same line share it, so that a local testbed's table stays readable."""
    measured = shared()
    rows = judge(measured, load_thresholds()).rows()
    assert {row.host for row in rows} == {"broker-1, broker-2, broker-3"}


def test_percentiles_are_exact_samples() -> None:
    """Nearest rank: p50 of four is the second, p99 of a hundred the 99th, p100 the last."""
    assert percentile([4, 1, 3, 2], 0.5) == 2
    assert percentile(list(range(1, 101)), 0.99) == 99
    assert percentile([7], 0.999) == 7


def test_a_percentile_without_ten_samples_beyond_is_null() -> None:
    """3,000 samples can show p99 but not p99.9."""
    summary = fsync_summary(disk(record("broker-1")))
    assert summary["count"] == 3000
    assert summary["p99_ns"] == 100_000
    assert summary["p99_9_ns"] is None


def test_the_median_of_the_repeats_is_judged() -> None:
    """Neither the best one, which hides a disk that stalls, nor the worst one, which a neighbour may have made."""
    uneven = disk(record("broker-1"), write=(90 * MB, 100 * MB, 330 * MB), p99_ms=(0.1, 3.0, 4.0))
    assert median_repeat(uneven, METRICS["write_bytes_per_s"]) == 100 * MB
    assert median_repeat(uneven, METRICS["fsync_p99_ns"]) == 3_000_000
