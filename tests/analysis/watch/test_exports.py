"""What other tools are given."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from analysis.watch.exports import EXPORTS, bencher_json, openmetrics, otava_csv
from analysis.watch.judge import Judged, judge
from contract.watch_history import Known
from tests.analysis.watch.histories import P99, history, noisy, round_of_ratios
from tests.analysis.watch.test_judge import confirmed_by

TWO = judge(history(round_of_ratios({"1.1": noisy(1.0)}), round_of_ratios({"1.2": noisy(2.0)}, number=2)))


def unanswered() -> Judged:
    """Of the one version only a lower bound is known."""
    one = round_of_ratios({"1.1": noisy(1.0)})
    blocks = tuple(
        replace(each, values={**each.values, "1.1": Known(None, 30.0, None)}) for each in one.metrics[P99][:3]
    )
    return judge(history(replace(one, metrics={P99: (*blocks, *one.metrics[P99][3:])})))


def test_otava_gets_a_row_for_each_version_in_their_order() -> None:
    """With the time of its first round."""
    assert otava_csv(TWO) == (
        "time,version,response_latency_p99\n2001-09-09 01:46:40+00:00,1.1,1.0\n2033-05-18 03:33:20+00:00,1.2,2.0\n"
    )


def test_otava_gets_nothing_where_there_is_no_value() -> None:
    """It takes the one before for it; a bound isn't a value."""
    assert otava_csv(unanswered()).splitlines()[1] == "2001-09-09 01:46:40+00:00,1.1,"


def test_bencher_gets_the_ratio_and_the_ends_of_its_interval() -> None:
    """In its metric format: benchmark, measure, value."""
    found = json.loads(bencher_json(TWO))
    measure = found["toy 1.2 over 1.0, steady, level 1"]["response_latency_p99_ratio"]
    assert measure["value"] == pytest.approx(2.0)
    assert 1.5 < measure["lower_value"] < 2.0 < measure["upper_value"] < 2.5
    assert len(found) == 2


def test_bencher_gets_no_end_that_is_no_bound() -> None:
    """JSON has no infinity, and with few blocks there is no interval at all."""
    few = judge(history(round_of_ratios({"1.1": [1.0, 1.1, 1.2]})))
    assert json.loads(bencher_json(few)) == {
        "toy 1.1 over 1.0, steady, level 1": {"response_latency_p99_ratio": {"value": 1.1}}
    }
    assert json.loads(bencher_json(unanswered())) == {}


def test_openmetrics_has_a_gauge_for_each_figure() -> None:
    """A type and a help line before its samples, and the end of the text at its end."""
    lines = openmetrics(TWO).splitlines()
    assert lines[:2] == [
        "# TYPE samebox_watch_ratio gauge",
        "# HELP samebox_watch_ratio Median over blocks of a version's value over the anchor's.",
    ]
    labels = 'system="toy",anchor="1.0",version="1.2",durability="1",workload="steady",metric="response_latency_p99"'
    assert f"samebox_watch_ratio{{{labels}}} 2.0" in lines
    assert f"samebox_watch_blocks{{{labels}}} 6" in lines
    assert f"samebox_watch_regression{{{labels}}} 0" in lines
    assert lines[-1] == "# EOF"
    assert openmetrics(TWO).endswith("# EOF\n")


def test_openmetrics_tells_a_regression_that_is_shown() -> None:
    """A suspicion by itself is none (above); a confirmed one is."""
    lines = [line for line in openmetrics(judge(confirmed_by(1.0, 1.1))).splitlines() if "regression{" in line]
    assert [line.endswith(" 1") for line in lines] == ['version="1.3"' in line for line in lines]
    assert any(line.endswith(" 1") for line in lines)


def test_no_export_has_what_its_format_has_not() -> None:
    """Neither infinity nor NaN, whatever is unknown."""
    for export in EXPORTS.values():
        text = export(unanswered()).lower()
        assert not {"inf", "nan", "null", "none"} & {*text.replace(",", " ").replace(":", " ").split()}
