"""The same claims on a campaign's own report: relations always, absolute figures only if it wasn't scaled, nothing below six blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined

from analysis.claims.application import campaign_verdicts, claim_rows
from analysis.claims.claim import packaged_documents
from analysis.claims.figures import PRINTED_FILE, packaged_figures
from analysis.claims.own_campaign import described
from analysis.claims.verdict import CONFIRMED, CONTRADICTED, INCONCLUSIVE, Verdict

FIGURES = packaged_figures(PRINTED_FILE)
SCALE = {"name": "local", "rules": ["1 % of every rate"]}


def report(
    p99_ms: Mapping[str, Sequence[float]],
    *,
    level: str = "2",
    scale: dict[str, Any] | None = None,
    validity: str = "valid",
) -> dict[str, Any]:
    """A report.json with one trial of each system per block, each with the p99 publish latency given."""
    trials, summary = [], []
    for system, values in p99_ms.items():
        for block, value in enumerate(values, start=1):
            name = f"b{block:02}-{system}"
            trials.append(
                {
                    "trial": name,
                    "experiment": "SN20-E5",
                    "system": system,
                    "durability": {"name": level},
                    "workload": {"name": "e5-latency", "message_bytes": 1024},
                    "block": block,
                    "validity": validity,
                }
            )
            summary.append({"trial": name, "metric": "publish_latency_p99", "unit": "ms", "value": value})
    return {"schema": 1, "manifest": {"campaign": "mine", "scale": scale}, "trials": trials, "summary": summary}


def verdict_on(claim: str, document: dict[str, Any]) -> Verdict:
    """One claim's verdict by a report."""
    (sn2020,) = [each for each in packaged_documents() if each.name == "sn2020"]
    return next(each for each in campaign_verdicts([sn2020], FIGURES, document) if each.id == claim)


def test_a_relation_is_confirmed_where_every_block_has_it() -> None:
    """Kafka's p99 is 3 times Pulsar's, to a digit, in six blocks of six."""
    found = verdict_on("SN20-C18", report({"pulsar": [4] * 6, "kafka": [11.9, 12, 12.1, 12, 11.9, 12]}, scale=SCALE))

    assert found.verdict == CONFIRMED
    assert [(cited.name, cited.value) for cited in found.cited] == [("pulsar", 4.0), ("kafka", 12.0)]
    assert found.experiments == ("SN20-E5",)


def test_a_relation_is_contradicted_where_every_block_misses_it_on_one_side() -> None:
    """1.5 times are not 3."""
    document = report({"pulsar": [4] * 6, "kafka": [6, 6.1, 6.2, 6.1, 6, 6.1]})

    found = verdict_on("SN20-C18", document)

    assert found.verdict == CONTRADICTED
    assert "1.5, 1.525, 1.55, 1.525, 1.5, 1.525 times, claimed 3 (2.5 to 3.5)" in found.sentence


def test_blocks_on_both_sides_of_an_edge_decide_nothing() -> None:
    """Neither some that hold and some that don't, nor misses on both sides."""
    for kafka in ([12, 12, 12, 12, 12, 8], [4, 40, 4, 40, 4, 40]):
        found = verdict_on("SN20-C18", report({"pulsar": [4] * 6, "kafka": kafka}))
        assert (found.verdict, found.reason) == (INCONCLUSIVE, "blocks-disagree")


def test_blocks_that_drift_within_the_tolerance_decide_nothing() -> None:
    """2.6 to 3.4 times lie within 2.5 to 3.5 in each of six blocks; but six that rise one by one may go on to rise."""
    document = report({"pulsar": [4] * 6, "kafka": [10.4, 11, 11.7, 12.3, 13, 13.6]})

    found = verdict_on("SN20-C18", document)

    assert (found.verdict, found.reason) == (INCONCLUSIVE, "blocks-disagree")
    assert "it holds in 6 of 6 blocks" in found.sentence


def test_blocks_that_ran_one_system_twice_are_left_out() -> None:
    """They say how far equals lie apart, and nothing of two systems."""
    document = report({"pulsar": [4] * 6, "kafka": [12] * 6})
    for trial in document["trials"][:1]:
        trial["block_kind"] = "A/A"

    found = verdict_on("SN20-C18", document)

    assert (found.verdict, found.reason) == (INCONCLUSIVE, "too-few-blocks")


def test_only_blocks_that_compare_are_counted() -> None:
    """What is said of the evidence counts no block in which a system met itself."""
    document = report({"pulsar": [4] * 6, "kafka": [12] * 6})
    for trial in document["trials"]:
        trial["block_kind"] = "A/A" if trial["block"] == 1 else "A/B"
    assert described(document, "results/mine")["blocks"] == 5


def test_fewer_than_six_blocks_decide_nothing_and_show_their_numbers() -> None:
    """The values are there, and the sentence that no interval is possible."""
    found = verdict_on("SN20-C18", report({"pulsar": [4], "kafka": [12]}))

    assert (found.verdict, found.reason) == (INCONCLUSIVE, "too-few-blocks")
    assert "3 times" in found.sentence
    assert "it holds in 1 of 1 block" in found.sentence


def test_absolute_figures_of_a_scaled_campaign_decide_nothing() -> None:
    """Under 5 ms at a hundredth of the load says nothing; at full size it does."""
    levels = report({"pulsar": [3] * 6}), report({"pulsar": [3] * 6}, level="4")
    both = {**levels[0], "trials": [*levels[0]["trials"], *_renamed(levels[1]["trials"])]}
    both["summary"] = [*levels[0]["summary"], *_renamed(levels[1]["summary"])]

    full = verdict_on("SN20-C19", both)
    scaled = verdict_on("SN20-C19", {**both, "manifest": {"campaign": "mine", "scale": SCALE}})

    assert full.verdict == CONFIRMED
    assert (scaled.verdict, scaled.reason) == (INCONCLUSIVE, "scaled")


def _renamed(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "trial": f"other-{row['trial']}"} for row in rows]


def test_what_the_campaign_does_not_have_is_not_known() -> None:
    """Another experiment, another level, or trials that aren't sound."""
    fine = {"pulsar": [4] * 6, "kafka": [12] * 6}
    for claim, document in (
        ("SN20-C46", report(fine)),
        ("SN20-C18", report(fine, level="1")),
        ("SN20-C18", report(fine, validity="invalid")),
    ):
        found = verdict_on(claim, document)
        assert (found.verdict, found.reason) == (INCONCLUSIVE, "not-in-campaign"), claim


def test_means_are_not_measured() -> None:
    """The thesis's latencies are means, which samebox doesn't keep."""
    document = report({"pulsar": [4] * 6}, level="3")
    for trial in document["trials"]:
        trial |= {"experiment": "TALL-E2", "workload": {"name": "e2-65kb-500", "message_bytes": 65_000}}
    (tallberg,) = [each for each in packaged_documents() if each.name == "tallberg2020"]

    found = {each.id: each for each in campaign_verdicts([tallberg], FIGURES, document)}

    assert found["TALL-C17"].reason == "not-measured"


def test_the_pages_chapter_has_the_claims_of_what_ran() -> None:
    """Only claims about experiments of the campaign, each with both verdicts; nothing at all for a campaign without any."""
    document = report({"pulsar": [4] * 6, "kafka": [12] * 6}, scale=SCALE)

    rows = claim_rows(document)

    assert {"SN20-C15", "SN20-C18"} <= {row["own"]["id"] for row in rows}
    assert not {"SN20-C02", "SN20-C27", "SN22-C01"} & {row["own"]["id"] for row in rows}
    template = files("analysis").joinpath("templates", "claims.html.j2").read_text(encoding="utf-8")
    environment = Environment(loader=DictLoader({"claims": template}), autoescape=True, undefined=StrictUndefined)
    page = environment.get_template("claims").render(report={"claims": rows}, manifest=document["manifest"])
    assert "Kafka&#39;s p99 publish is 3 × Pulsar&#39;s" in page
    assert '<span class="verdict confirmed">confirmed</span><br>As claimed' in page
    assert environment.get_template("claims").render(report={"claims": []}, manifest=document["manifest"]).strip() == ""


def test_a_bound_decides_where_it_can() -> None:
    """A percentile among messages that were never answered is "more than": enough against "under", and no help for "3 times"."""
    under = report({"pulsar": [8] * 6})
    times = report({"pulsar": [4] * 6, "kafka": [4] * 6})
    for document in (under, times):
        for row in document["summary"]:
            if row["trial"].endswith(("pulsar" if document is under else "kafka",)):
                row |= {"value": None, "low": 8.0, "high": None}

    found, open_ended = verdict_on("SN20-C19", under), verdict_on("SN20-C18", times)

    assert found.verdict == CONTRADICTED
    assert "at least 8, at least 8" in found.sentence
    assert open_ended.verdict == INCONCLUSIVE


def test_a_system_published_under_another_name_is_found_under_its_own() -> None:
    """NATS JetStream is one there and a part of one here: the order of the three can be judged, and its own figure, too."""
    values = {"kafka": (3.0, 900), "nats": (3.5, 1_200), "redpanda": (11.0, 1_400)}
    document = report({name: [p99] * 6 for name, (p99, _) in values.items()}, level="2")
    for trial in document["trials"]:
        trial |= {"experiment": "CPRO-E1", "workload": {"name": "e1-single", "message_bytes": 128}}
    rates = [
        {"trial": trial["trial"], "metric": "throughput_achieved", "unit": "msg/s", "value": values[trial["system"]][1]}
        for trial in document["trials"]
    ]
    document["summary"] = [{**row, "metric": "end_to_end_latency_p99"} for row in document["summary"]] + rates
    (bench,) = [each for each in packaged_documents() if each.name == "brokers-bench"]
    [found] = [each for each in campaign_verdicts([bench], FIGURES, document) if each.id == "CPRO-C05"]
    by_part = {part.what: part.verdict for part in found.parts}
    assert by_part["P99 in this order, but for Pulsar's"] == CONFIRMED
    assert by_part["msg/s in this order, but for Pulsar's"] == CONFIRMED
    assert by_part["NATS's P99"] != INCONCLUSIVE
    assert by_part["Pulsar's P99"] == INCONCLUSIVE  # it didn't run
