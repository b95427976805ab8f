"""Which trials a cross-check adds, and which it can't, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bench.campaign.campaign_file import load_campaign
from bench.campaign.cross_check import cross_check_document, left_out, with_native_trials
from bench.campaign.prepared import Prepared, prepare
from bench.cli.main import samebox
from contract.workload import Backlog, Workload
from provisioning.errors import InvalidInput, MissingRequirement
from provisioning.hosts.host import Host, ScriptedHost
from provisioning.hosts.inventory import HostRecord, SshAddress
from provisioning.hosts.requirement import require
from systems.jvm.load_tool import JAVA_OF_LOAD_TOOL
from systems.kafka.load_tool import ProducerPerformance
from systems.load_tool import NativeTool, none_can
from systems.pulsar.load_tool import PulsarPerf

SMOKE = Path(__file__).resolve().parents[2] / "campaigns" / "smoke.toml"
STEADY = Workload("steady", rate_per_s=100, message_bytes=100, measure_s=10)


class _Store:
    """A store that knows versions."""

    def deploy(self, name: str, hosts: Sequence[Host]) -> str:
        raise AssertionError(f"{name} for {len(hosts)} hosts was not asked for")

    def version(self, name: str) -> str:
        return f"{name}-version"


def prepared(folder: Path, more: str = "", workload: str = "") -> Prepared:
    """The smoke campaign with lines added at its top and to its workload."""
    file = folder / "smoke.toml"
    file.write_text(SMOKE.read_text().replace("schema = 1", f"schema = 1\n{more}") + workload)
    return prepare(load_campaign(file), file, "local")


def test_each_trial_is_followed_by_its_native_one(tmp_path: Path) -> None:
    """In the same block and position, under its name with a suffix."""
    trials = prepared(tmp_path, "cross_check = true").trials
    assert [(spec.trial, spec.generator, spec.position) for spec in trials] == [
        ("b01-1-pulsar-l2-steady", "samebox", 1),
        ("b01-1-pulsar-l2-steady-native", "native", 1),
        ("b01-2-kafka-l2-steady", "samebox", 2),
        ("b01-2-kafka-l2-steady-native", "native", 2),
    ]


def test_nothing_is_added_unless_asked_for(tmp_path: Path) -> None:
    """A campaign without the key has its own trials only."""
    assert {spec.generator for spec in prepared(tmp_path).trials} == {"samebox"}


def test_what_a_tool_cannot_run_is_left_out_with_the_reason(tmp_path: Path) -> None:
    """Keys are for neither tool: our trials stay, and the manifest says why each is alone, once."""
    keyed = prepared(tmp_path, "cross_check = true\n", 'keys = "random"\n')
    assert {spec.generator for spec in keyed.trials} == {"samebox"}
    assert {entry.system for entry in left_out(keyed.trials * 2)} == {"kafka", "pulsar"}
    document = cross_check_document(keyed.trials, lambda _contestant: _Store())
    assert {entry["system"]: entry["reason"].split(" ")[0] for entry in document["left_out"]} == {
        "pulsar": "pulsar-perf",
        "kafka": "kafka-producer-perf-test",
    }
    assert document["tools"]["pulsar"]["bundles"] == {"pulsar": "pulsar-version", "pulsar-perf": "pulsar-perf-version"}
    assert all(tool["measures"] and tool["cannot_set"] for tool in document["tools"].values())


@pytest.mark.parametrize(
    ("workload", "reason"),
    [
        (replace(STEADY, pacing="search"), "search"),
        (replace(STEADY, pacing="closed-loop"), "closed loop"),
        (replace(STEADY, arrivals="poisson"), "poisson arrivals"),
        (replace(STEADY, backlog=Backlog(1000)), "backlog"),
        (replace(STEADY, topics=2, producers=2, consumers=2), "this load has 2"),
    ],
)
def test_what_no_tool_can_run(workload: Workload, reason: str) -> None:
    """Each has its own sentence."""
    assert reason in (none_can(workload) or "")
    assert none_can(STEADY) is None


@pytest.mark.parametrize("tool", [ProducerPerformance(), PulsarPerf()])
def test_a_plain_load_is_for_every_tool(tool: NativeTool) -> None:
    """And none makes up keys of its own."""
    assert tool.cannot(STEADY) is None
    assert "keys" in (tool.cannot(replace(STEADY, keys="random")) or "")


def test_names_that_would_be_equal_are_refused(tmp_path: Path) -> None:
    """A workload called like another one's native trial would share its folder."""
    more = '[[workloads]]\nname = "steady-native"\nrate_per_s = 10\nmessage_bytes = 100\nmeasure_s = 1\n'
    with pytest.raises(InvalidInput, match=r"smoke\.toml: workload 'steady-native'") as caught:
        prepared(tmp_path, "cross_check = true", more)
    assert "doesn't end in '-native'" in caught.value.next_step
    assert len(prepared(tmp_path, "", more).trials) == 4


def test_a_client_host_without_java_is_named() -> None:
    """With the reason why it needs one, and what it has instead."""
    record = HostRecord("client-1", "client", SshAddress("127.0.0.1", 22, "u", "k"), "127.0.0.1", "/r", (), "", "", 1)
    host = ScriptedHost(record)
    asks = f"if ( {JAVA_OF_LOAD_TOOL.test} ) >/dev/null 2>&1; then echo yes; else echo no; fi"
    shows = f"{{ {JAVA_OF_LOAD_TOOL.shows}; }} 2>/dev/null || true"
    host.answers = {asks: "no\n", shows: "11.0.2\n"}
    with pytest.raises(MissingRequirement, match=r"cross_check = true need it\): client-1 has 11\.0\.2") as caught:
        require([host], [JAVA_OF_LOAD_TOOL])
    host.answers[shows] = ""
    with pytest.raises(MissingRequirement, match="client-1 has none"):
        require([host], [JAVA_OF_LOAD_TOOL])
    assert "openjdk-17" in caught.value.next_step


def test_it_is_written_by_name_in_the_order(tmp_path: Path) -> None:
    """The manifest's order tells native trials from ours."""
    trials = prepared(tmp_path, "cross_check = true").trials
    assert [spec.to_json()["generator"] for spec in trials] == ["samebox", "native"] * 2
    assert with_native_trials(trials[:1], where="here") == trials[:2]


def test_the_plan_tells_native_trials_and_what_is_not_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a user types it: doubled trials are named, a workload that stays alone has its reason."""
    keyed = '[[workloads]]\nname = "keyed"\nrate_per_s = 10\nmessage_bytes = 100\nmeasure_s = 1\nkeys = "random"\n'
    file = tmp_path / "smoke.toml"
    file.write_text(SMOKE.read_text().replace("schema = 1", "schema = 1\ncross_check = true") + keyed)
    samebox.main(["plan", str(file)], standalone_mode=False)
    printed = capsys.readouterr().out
    assert printed.count("(native tools)") == 2
    assert "6 trials" in printed
    assert "Not cross-checked:\n  keyed: pulsar: pulsar-perf produce makes new keys all the time" in printed
