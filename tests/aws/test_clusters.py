"""A stack's EMR clusters are ended, and seen to have ended, before the stack goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from provisioning.errors import SameboxError
from provisioning.testbeds.aws import clusters
from provisioning.testbeds.aws.clusters import ENDS_WITHIN_S, end_clusters
from provisioning.testbeds.aws.leftovers import LIVE_CLUSTERS
from provisioning.testbeds.aws.pulumi_command import ScriptedPulumi
from provisioning.testbeds.aws.stack import Stack
from tests.aws.test_campaign_aws import CONFIG

STACK = '{"samebox:region": {"value": "us-west-2"}, "samebox:campaign": {"value": "smoke"}}'
OURS, OTHERS, SIBLINGS = "j-OURS", "j-OTHERS", "j-SIBLINGS"


class Emr:
    """A session whose EMR gives scripted answers, and time that passes while it is waited for."""

    def __init__(self) -> None:
        self._opened = boto3.session.Session(region_name="us-west-2")
        self._emr = self._opened.client("emr", aws_access_key_id="testing", aws_secret_access_key="testing")
        self.stubber = Stubber(self._emr)
        self.now_s = 0.0

    def client(self, service: str) -> Any:
        """Only EMR is asked."""
        assert service == "emr"
        return self._emr

    def lists(self, state: str | None) -> None:
        """What is listed: our cluster in this state, or none of ours; and always one of another campaign, and one of another stack."""
        states = {**({} if state is None else {OURS: state}), OTHERS: "RUNNING", SIBLINGS: "RUNNING"}
        listed = [{"Id": cluster, "Name": cluster, "Status": {"State": at}} for cluster, at in states.items()]
        self.stubber.add_response("list_clusters", {"Clusters": listed}, {"ClusterStates": list(LIVE_CLUSTERS)})
        for each in listed:
            whose = {"project": "samebox", "campaign": "another" if each["Id"] == OTHERS else "smoke"}
            whose["stack"] = "sibling" if each["Id"] == SIBLINGS else "sn"
            tags = [{"Key": key, "Value": value} for key, value in whose.items()]
            self.stubber.add_response(
                "describe_cluster", {"Cluster": {**each, "Tags": tags}}, {"ClusterId": each["Id"]}
            )

    def ends_ours(self) -> None:
        """Ours, and no other."""
        self.stubber.add_response("terminate_job_flows", {}, {"JobFlowIds": [OURS]})

    def pass_time(self, seconds: float) -> None:
        """Instead of sleeping."""
        self.now_s += seconds


@pytest.fixture
def emr(monkeypatch: pytest.MonkeyPatch) -> Iterator[Emr]:
    """Every answer that is scripted must be asked for."""
    scripted = Emr()
    monkeypatch.setattr(clusters, "session", lambda _: scripted)
    with scripted.stubber:
        yield scripted
        scripted.stubber.assert_no_pending_responses()


def end_all(emr: Emr, poll_every_s: float = 10.0) -> list[str]:
    """Of stack sn; what it said."""
    said: list[str] = []
    stack = Stack("sn", Path(), command=ScriptedPulumi([(CONFIG, STACK)]))
    end_clusters(stack, said.append, poll_every_s=poll_every_s, now_s=lambda: emr.now_s, sleep=emr.pass_time)
    return said


def test_a_cluster_that_runs_is_ended_once_and_waited_for(emr: Emr) -> None:
    """It counts as long as it is ending: until then its machines are in the stack's network."""
    emr.lists("RUNNING")
    emr.ends_ours()
    emr.lists("RUNNING")
    emr.lists("TERMINATING")
    emr.lists(None)

    assert end_all(emr) == [
        f"ending EMR clusters: {OURS}",
        f"waiting for the end of {OURS} (running)",
        f"waiting for the end of {OURS} (running)",
        f"waiting for the end of {OURS} (terminating)",
    ]


def test_one_that_is_ending_already_is_only_waited_for(emr: Emr) -> None:
    """As after a report whose step is done."""
    emr.lists("TERMINATING")
    emr.lists(None)
    assert end_all(emr) == [f"waiting for the end of {OURS} (terminating)"]


def test_clusters_of_others_are_left_alone(emr: Emr) -> None:
    """The tags say which are the stack's own: not another campaign's, nor those of another stack of the same campaign."""
    emr.lists(None)
    assert end_all(emr) == []


def test_one_that_does_not_end_stops_the_teardown_with_a_sentence(emr: Emr) -> None:
    """Destroying under it would hang on its network, and take away the role by which EMR ends it."""
    emr.lists("RUNNING")
    emr.ends_ours()
    emr.lists("TERMINATING")
    emr.lists("TERMINATING")
    with pytest.raises(SameboxError, match=f"{OURS} hasn't ended within 20 minutes") as stuck:
        end_all(emr, poll_every_s=0.6 * ENDS_WITHIN_S)
    assert "pulumi destroy --stack sn" in (stuck.value.next_step or "")
