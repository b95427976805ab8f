"""Whether a rate was sustained: one criterion, for runs of every length."""

from __future__ import annotations

import dataclasses

import pytest

from bench.load.sustained import GROWTH_SHARE, Judgement, judge
from bench.load.workers import Sample

RATE = 1000
WARMUP_S = 2.0


def samples_of(
    rate_per_s: float, seconds: float, *, lag_ms: float = 0.0, received: float = 1.0, in_flight: int = 10
) -> tuple[Sample, ...]:
    """One producer and one consumer that count twice a second, the consumer a quarter of a second later."""
    return tuple(
        Sample(name, role, subscription, at + shift, round(rate_per_s * share * (at + shift)), lag_ns, window)
        for at in (half / 2 for half in range(2 * int(seconds) + 1))
        for name, role, subscription, shift, share, lag_ns, window in (
            ("producer-0", "producer", None, 0.0, 1.0, round(lag_ms * 1e6), in_flight),
            ("consumer-0", "consumer", "subscription-0", 0.25, received, 0, 0),
        )
    )


def outage(role: str, seconds: float, from_s: float, lasts_s: float, *, made_up: bool = False) -> list[Sample]:
    """A run in which a role stands still for so long, and then goes on at the rate; or makes up for it in the last instant."""

    def counted(sample: Sample) -> int:
        behind_s = min(max(sample.at_s - from_s, 0.0), lasts_s)
        return sample.messages - (0 if made_up and sample.at_s >= from_s + lasts_s else round(RATE * behind_s))

    samples = samples_of(RATE, seconds + WARMUP_S + 2)
    return [dataclasses.replace(s, messages=counted(s)) if s.role == role else s for s in samples]


def judged(samples: tuple[Sample, ...] | list[Sample], measure_s: float = 10, errors: int = 0) -> Judgement:
    return judge(samples, RATE, from_s=WARMUP_S, to_s=WARMUP_S + measure_s, errors=errors)


@pytest.mark.parametrize(
    ("samples", "errors", "words"),
    [
        (samples_of(1000, 12), 0, ""),
        (samples_of(990.1, 12), 0, ""),
        (samples_of(980, 12), 0, "acknowledged 980 of 1,000"),
        (samples_of(1000, 12, received=0.9), 0, "a backlog grows"),
        (samples_of(1000, 12, lag_ms=200), 0, "200 ms late"),
        (samples_of(1000, 12), 3, "3 messages were given up or lost"),
        ((), 0, "acknowledged 0"),
        (samples_of(980, 12), 3, "messages a second; 3 messages were given up or lost"),
    ],
)
def test_what_is_sustained(samples: tuple[Sample, ...], errors: int, words: str) -> None:
    """Acknowledged, received, on time, complete: each of them can fail a rate, and nothing counted is no success."""
    found = judged(samples, errors=errors)
    assert found.sustained == (not words)
    assert words in found.reason


@pytest.mark.parametrize("measure_s", [5, 10, 20, 60, 300])
@pytest.mark.parametrize("role", ["producer", "consumer"])
def test_the_bias_is_the_same_at_every_length(measure_s: int, role: str) -> None:
    """A steady 99 % of the rate counts as all of it and a little less doesn't, in steps as in confirmations."""
    for share, sustained in ((1 - GROWTH_SHARE + 0.001, True), (1 - GROWTH_SHARE - 0.001, False)):
        whole = samples_of(RATE, measure_s + WARMUP_S)
        slow = [dataclasses.replace(s, messages=round(s.messages * share)) if s.role == role else s for s in whole]
        assert judged(slow, measure_s).sustained == sustained


@pytest.mark.parametrize("measure_s", [5, 10, 20, 60, 300])
@pytest.mark.parametrize(("role", "words"), [("producer", "acknowledged"), ("consumer", "received")])
def test_an_outage_that_is_never_made_up_costs_what_it_lasted(measure_s: int, role: str, words: str) -> None:
    """Of it too 1 % of the run is allowed, whatever its length; one that is made up costs nothing."""
    middle_s = WARMUP_S + measure_s / 2
    for share, made_up, why in ((0.007, False, ""), (0.015, False, words), (0.3, True, "")):
        found = judged(outage(role, measure_s, middle_s, share * measure_s, made_up=made_up), measure_s)
        assert found.sustained == (not why), found
        assert why in found.reason


@pytest.mark.parametrize("role", ["producer", "consumer"])
@pytest.mark.parametrize("measure_s", [5, 60])
def test_a_second_at_either_end_may_be_a_hiccup(role: str, measure_s: int) -> None:
    """What stands still within the last moments might be made up right after; what stands longer is an outage."""
    end_s = WARMUP_S + measure_s
    assert judged(outage(role, measure_s, end_s - 0.7, 2), measure_s).sustained
    assert judged(outage(role, measure_s, 1.5, 1.4, made_up=True), measure_s).sustained
    assert not judged(outage(role, measure_s, end_s - 2.5, 3), measure_s).sustained


def test_falling_behind_is_no_hiccup() -> None:
    """A system that is a little too slow almost all the time isn't helped by a burst after the end."""
    samples = [
        dataclasses.replace(s, messages=round(s.messages * 0.97)) if s.role == "producer" and s.at_s < 13 else s
        for s in samples_of(RATE, 14)
    ]
    assert judged(samples).reason.startswith("acknowledged 97")


def test_workers_are_judged_together() -> None:
    """Ten consumers get theirs in one piece each, one after the other: none of them alone has a steady rate, all have."""
    bursts = tuple(
        Sample(f"consumer-{number}", "consumer", "subscription-0", at / 2, 50 * ((at + number) // 10) * 10, 0)
        for at in range(29)
        for number in range(10)
    )
    producer = tuple(s for s in samples_of(RATE, 14) if s.role == "producer")
    found = judged(producer + bursts)
    assert found.received_per_s == pytest.approx(1000, rel=0.01)
    assert found.sustained


def test_the_slowest_subscription_decides() -> None:
    """One that keeps up doesn't hide another that doesn't."""
    slow = tuple(
        dataclasses.replace(s, worker="consumer-1", subscription="subscription-1", messages=round(s.messages * 0.9))
        for s in samples_of(RATE, 12)
        if s.role == "consumer"
    )
    found = judged(samples_of(RATE, 12) + slow)
    assert found.received_per_s == pytest.approx(900, rel=0.01)


def test_late_at_times_is_not_late_all_the_time() -> None:
    """Late but for one moment: there was room to catch up; and lateness that grows is a backlog that does."""
    late = [dataclasses.replace(s, lag_ns=900_000_000) if s.at_s != 6 else s for s in samples_of(RATE, 12)]
    assert judged(late).sustained


def test_in_flight_is_looked_at_before_a_backlog_grows() -> None:
    """Where it grows from 2,000 to a full window, 2,000 is what the rate needs."""
    growing = [
        dataclasses.replace(s, in_flight=2000 if s.at_s < 5 else 5000) for s in samples_of(RATE, 12) if s.at_s >= 2
    ]
    assert judged(growing).in_flight == 2000
