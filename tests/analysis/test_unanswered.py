"""Messages that were never answered: how many there are of each latency, and for how long they were waited for."""

from __future__ import annotations

from analysis.campaign import Trial
from analysis.delivery import Delivery
from analysis.population import Population, population_of
from analysis.records.latencies import END_TO_END, PUBLISH, RESPONSE, SEND_DELAY
from analysis.unanswered import populations_of
from tests.analysis.synthetic_results import EPOCH_NS, Plan, S, Shape, trial_document

NAME = "b01-1-kafka-l1-steady"
# warm-up until second 2, measured until 8, watched until 20 (consumers 25); 400 a second
UNTIL = {"watched_until_ns": {"producers": EPOCH_NS + 20 * S, "consumers": EPOCH_NS + 25 * S}}


def _populations(received: int, repeats: int = 0) -> dict[tuple[str, str, str], Population]:
    trial = Trial(NAME, trial_document(Plan(NAME, 1, 1, "kafka", observations=UNTIL), Shape(), EPOCH_NS, {}, 0))
    return populations_of(
        [trial],
        acknowledged=[
            {"trial": NAME, "phase": phase, "scheduled": scheduled}
            for phase, scheduled in (("warmup", 800), ("measure", 2400))
        ],
        received=[{"trial": NAME, "subscription": "s", "received_of_measure": received}],
        deliveries=[Delivery(NAME, "s", 3200, received + 800, 0, repeats, 0, (), repeats)],
        events={
            NAME: [
                {"event": event, "second": second, "messages": 400}
                for event in ("scheduled", "acknowledged")
                for second in range(8)
            ]
        },
    )


def test_all_scheduled_messages_of_the_phase_are_ranked() -> None:
    """The waits go back from the last second: it was waited for 12 s, the first for 17 s."""
    found = _populations(received=2400)
    waits = tuple((seconds * S, 400) for seconds in range(12, 18))
    assert found[NAME, RESPONSE, ""] == found[NAME, SEND_DELAY, ""] == Population(2400, waits)
    assert found[NAME, PUBLISH, ""] == Population(2400)
    assert (NAME, END_TO_END, "s") not in found


def test_what_was_never_received_is_ranked_too() -> None:
    """Two of 2,400 are missing; a repeat is a receipt of its own and makes up for none of them."""
    found = _populations(received=2401, repeats=3)
    assert found[NAME, END_TO_END, "s"].messages == 2403
    assert found[NAME, END_TO_END, "s"].waits[0] == (17 * S, 400)


def test_unanswered_messages_are_taken_to_be_those_with_the_shortest_waits() -> None:
    """The 401st was intended a second before the 400th; beyond what was counted nothing is known."""
    waits = ((12 * S, 400), (13 * S, 400))
    population = Population(2400, waits)
    assert [population.waited_ns(position) for position in (1, 400, 401, 801)] == [12 * S, 12 * S, 13 * S, 0]


def test_a_metric_without_a_population_has_its_samples() -> None:
    """And one with more samples than messages, as of a schedule that was cut, keeps them."""
    assert population_of({}, ("t", "m", ""), 7) == Population(7)
    assert population_of({("t", "m", ""): Population(5)}, ("t", "m", ""), 7) == Population(7)


def test_an_older_record_is_watched_until_its_schedule_or_its_load_ended() -> None:
    """Whichever came first: an aborted load ends before its schedule."""
    document = trial_document(Plan(NAME, 1, 1, "kafka"), Shape(), EPOCH_NS, {}, 0)
    assert Trial(NAME, document).watched_until_ns("producers") == EPOCH_NS + 8 * S
    document["steps"] = [{"name": "load", "started_ns": EPOCH_NS, "ended_ns": EPOCH_NS + 5 * S}]
    assert Trial(NAME, document).watched_until_ns("producers") == EPOCH_NS + 5 * S
