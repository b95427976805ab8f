"""What a campaign without faults doesn't have: a check of them, and what makers say of them."""

from __future__ import annotations

from dataclasses import replace

from bench.campaign.campaign_file import load_campaign
from bench.campaign.order import TrialSpec
from bench.campaign.prepared import has_faults, prepare
from bench.campaign.testbed_profile import load_profile
from bench.checkout import CHECKOUT
from contract.fault import Fault

DEMO = CHECKOUT / "campaigns" / "demo.toml"


def with_faults(spec: TrialSpec, *faults: Fault) -> TrialSpec:
    """The trial with these faults, and no others."""
    return replace(spec, workload=replace(spec.workload, faults=faults))


def test_a_campaign_without_faults_declares_no_check_of_them() -> None:
    """Its kind of testbed has it; all other checks are the testbed's."""
    checks = [check.check for check in prepare(load_campaign(DEMO), DEMO, "local").checks]
    declared = [check.check for check in load_profile("local").checks]
    assert "faults-took-effect" in declared
    assert checks == [name for name in declared if name != "faults-took-effect"]


def test_one_workload_with_a_fault_makes_a_campaign_one_with_faults() -> None:
    """An empty list is none."""
    trials = prepare(load_campaign(DEMO), DEMO, "local").trials
    assert not has_faults(trials)
    assert not has_faults([with_faults(trials[0])])
    assert has_faults([trials[0], with_faults(trials[1], Fault(1.0, "kill"))])
