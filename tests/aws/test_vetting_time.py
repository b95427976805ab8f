"""How long vetting takes, from the sizes of the probes and the disks of the types: sums checked by hand."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.checkout import CHECKOUT
from bench.cli.cost import vetting_step
from bench.cli.target import Target
from infra.instance_types import INSTANCE_TYPES
from provisioning.errors import InvalidInput
from provisioning.testbeds.aws.shape import Hosts, Shape, load_shape, stack_file
from provisioning.testbeds.aws.vetting_time import (
    BLOCK_S,
    FLUSH_S,
    PREPARE_S,
    SLOWEST_KEPT,
    dd_s,
    load_disks,
    vetting_s,
)
from provisioning.vetting import load_thresholds

GIB = 2**30
THRESHOLDS = load_thresholds()
NONE = Hosts(0, "none", 1, 125)


def shape(**hosts: Any) -> Shape:
    """A stack of one i3en.large broker and nothing else, but for `hosts`."""
    broker = Hosts(1, "i3en.large", 30, 125)
    return Shape(
        "us-west-2",
        **{"brokers": broker, "clients": NONE, "metadata": NONE, **hosts},
        report_instance_type="",
        report_instances=1,
    )


def test_a_disk_is_written_and_read_three_times() -> None:
    """64 GiB at 165,675,008 and 330,301,440 bytes a second, a wait for each MiB, 20,000 flushes, two minutes between."""
    dd = 64 * GIB / 165_675_008 + 64 * GIB / 330_301_440 + 2 * 64 * 1024 * BLOCK_S
    round_s = 5 + dd / SLOWEST_KEPT + 20_000 * FLUSH_S
    assert vetting_s(shape(), THRESHOLDS) == pytest.approx(PREPARE_S + 3 * round_s + 2 * 60)


def test_the_disks_of_a_host_are_probed_in_turn_and_hosts_at_once() -> None:
    """Two disks take twice as long, three hosts no longer than one; the pairs of client and broker one after another."""
    two = vetting_s(shape(brokers=Hosts(1, "i3en.2xlarge", 30, 125)), THRESHOLDS)
    one = vetting_s(shape(brokers=Hosts(1, "i3en.xlarge", 30, 125)), THRESHOLDS)
    assert two - one == pytest.approx(one - PREPARE_S - 3 * 5 - 2 * 60)
    assert vetting_s(shape(brokers=Hosts(3, "i3en.large", 30, 125)), THRESHOLDS) == vetting_s(shape(), THRESHOLDS)
    clients = [vetting_s(shape(clients=Hosts(count, "m5n.large", 30, 125)), THRESHOLDS) for count in (1, 3)]
    assert clients[1] - clients[0] == pytest.approx(2 * (3.0 + 5.0 + 1.0))


def test_a_metadata_host_without_disks_is_probed_on_its_root_volume() -> None:
    """8 GiB at its throughput, which is what decides where brokers are faster."""
    fast = Hosts(1, "i4i.large", 30, 125)
    alone = vetting_s(shape(brokers=fast), THRESHOLDS)
    beside = vetting_s(shape(brokers=fast, metadata=Hosts(1, "t3.medium", 30, 125)), THRESHOLDS)
    sequential = 2 * (8 * GIB / (125 * 2**20) + 8 * 1024 * BLOCK_S)
    assert beside == pytest.approx(PREPARE_S + 3 * (2 + sequential / SLOWEST_KEPT + 10_000 * FLUSH_S) + 2 * 30)
    assert beside > alone


def test_a_type_that_nobody_has_noted_takes_as_long_as_it_may() -> None:
    """An estimate on the safe side."""
    assert vetting_s(shape(brokers=Hosts(1, "new.large", 30, 125)), THRESHOLDS) > 3 * 2 * 8 * GIB / 20_000_000


def test_dd_is_as_fast_as_the_one_that_somebody_published() -> None:
    """i3en.2xlarge: the preset's 327 MB/s; reckoned a little slower, never faster."""
    published = THRESHOLDS.preset_of("i3en.2xlarge")
    assert published is not None
    reckoned = 64 * GIB / dd_s(64 * GIB, load_disks()["i3en.2xlarge"].write_bytes_per_s)
    assert 0.97 * published < reckoned < published


def test_every_type_with_disks_of_its_own_is_known() -> None:
    """As many disks as infra mounts; reading is never slower than writing."""
    assert {name: each.count for name, each in load_disks().items()} == {
        name: known.instance_disks for name, known in INSTANCE_TYPES.items() if known.instance_disks
    }
    assert all(each.read_bytes_per_s >= each.write_bytes_per_s for each in load_disks().values())


@pytest.mark.parametrize(
    ("stack", "least_min", "most_min"), [("tiny", 3, 6), ("smoke", 34, 50), ("sn2020", 36, 55), ("sn2022", 15, 30)]
)
def test_the_presets_take_what_their_disks_take(stack: str, least_min: float, most_min: float) -> None:
    """A small instance has slow disks, a large one two fast ones; smaller probes take less."""
    made = load_shape(stack_file(CHECKOUT, stack))
    seconds = vetting_s(made, THRESHOLDS)
    assert least_min * 60 < seconds < most_min * 60
    small = dict.fromkeys(THRESHOLDS.profiles, THRESHOLDS.profiles["small"])
    assert vetting_s(made, replace(THRESHOLDS, profiles=small)) < PREPARE_S + 60


def test_a_stack_may_choose_its_probes() -> None:
    """One profile for every type: 1 GiB instead of 64. One that nobody has described is refused, with those there are."""
    short = THRESHOLDS.profiles["short"]
    dd = GIB / 165_675_008 + GIB / 330_301_440 + 2 * 1024 * BLOCK_S
    round_s = short.idle_s + dd / SLOWEST_KEPT + short.fsync_count * FLUSH_S
    assert vetting_s(replace(shape(), probes="short"), THRESHOLDS) == pytest.approx(PREPARE_S + 3 * round_s + 2 * 2)
    with pytest.raises(
        InvalidInput, match=r"samebox:probes of the stack's config = 'tiny': .* Valid: medium, report-2020, "
    ):
        vetting_s(replace(shape(), probes="tiny"), THRESHOLDS)


def test_what_vets_a_stacks_hosts_are_the_probes_of_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The stack's own file decides, for every type; any other testbed, and a stack that chooses none, has each type's own."""
    shutil.copy(CHECKOUT / "Pulumi.yaml", tmp_path)
    for name in ("tiny", "smoke"):
        shutil.copy(CHECKOUT / f"infra/presets/{name}.yaml", tmp_path / f"Pulumi.{name}.yaml")
    monkeypatch.chdir(tmp_path)
    chosen = Target(stack_name="tiny").thresholds(THRESHOLDS)
    assert {chosen.profile_of(kind) for kind in ("i3en.large", "m5.large")} == {THRESHOLDS.profiles["short"]}
    assert chosen.preset_of("i3en.2xlarge") == THRESHOLDS.preset_of("i3en.2xlarge")
    assert Target(stack_name="smoke").thresholds(THRESHOLDS) == THRESHOLDS == Target().thresholds(THRESHOLDS)


def test_the_step_of_a_campaign_takes_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `samebox campaign aws` and `plan --stack` show, and by which the hosts' life is reckoned."""
    monkeypatch.chdir(CHECKOUT)
    step = vetting_step("smoke", THRESHOLDS)
    assert step.estimate_s == vetting_s(load_shape(stack_file(CHECKOUT, "smoke")), THRESHOLDS)
