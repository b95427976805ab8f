"""A whole campaign on real brokers in which something goes wrong in chosen trials, and what came out of it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.campaign.campaign_file import load_campaign
from bench.campaign.prepared import prepare
from bench.progress import PlainReporter
from bench.report.here import make_report
from bench.results.folder import Results
from bench.run.runner import run_campaign
from bench.run.vetted import VETTED_SCHEMA, Vetted
from provisioning.cache import user_cache
from provisioning.hosts.daemon_agent import start_time
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import SshHost
from provisioning.software.store import Store
from systems.deployment import Deployment
from systems.registry import SYSTEMS, software
from tests.truth.faults import pids_of, small_disk

HEAD = """
schema = 1
name = "faults"
question = "What do the records say when something breaks?"
seed = 5
order = "fixed"
systems = ["{system}"]
durability = [2]
blocks = 1
[checks]
send-delay = {{ p99_ms = 5000 }}
"""
WORKLOAD = """
[[workloads]]
name = "{name}"
rate_per_s = 200
message_bytes = 512
partitions = 3
producers = 2
consumers = 1
warmup_s = 2
measure_s = {measure_s}
"""
UNTIL_FAULT_S = 6  # into the schedule, so with messages of the measure phase on record
_LEFT = re.compile(r"(\d+) s left$")


@dataclass(frozen=True)
class Scene:
    """What a fault can be done to."""

    deployment: Deployment
    hosts: Mapping[str, SshHost]

    def root(self, host: str) -> Path:
        """A local host's directory."""
        return Path(self.hosts[host].record.root)


@dataclass(frozen=True)
class Act:
    """A trial with a fault in it: `fault` is called once, `UNTIL_FAULT_S` into the schedule.

    `small_disk` (host, folder below its root) is a disk of its own from before the system is started until the trial is over.
    """

    name: str
    fault: Callable[[Scene], object]
    measure_s: int = 12
    small_disk: tuple[str, str] | None = None


@dataclass
class Saboteur(PlainReporter):
    """A reporter that does the faults when the load's own progress says that it is time."""

    acts: Mapping[str, Act]
    scene: Scene
    at_ns: dict[str, int] = field(default_factory=dict)  # act -> when its fault was done
    outlived: dict[str, list[int]] = field(default_factory=dict)  # act -> daemons still there after the trial's stop
    disks: ExitStack = field(default_factory=ExitStack)
    _step: str = ""
    _pids: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(print)

    def step(self, title: str) -> None:
        super().step(title)
        self._step = title
        act = self._act()
        if title.endswith(": reset"):
            self.disks.close()
        if act is not None and act.small_disk is not None and title.endswith(": start"):
            host, folder = act.small_disk
            self.disks.enter_context(small_disk(self.scene.root(host) / folder))
        if act is not None and title.endswith(": collect"):
            self.outlived[act.name] = [pid for pid in self._pids if start_time(pid) is not None]

    def detail(self, text: str) -> None:
        act, left = self._act(), _LEFT.search(text)
        if act is None or left is None or act.name in self.at_ns or not self._step.endswith(": load"):
            return
        if int(left.group(1)) <= 2 + act.measure_s - UNTIL_FAULT_S:
            self._pids = pids_of(self.scene.deployment)
            self.at_ns[act.name] = time.time_ns()
            act.fault(self.scene)
            self.notice(f"fault: {act.name}")

    def _act(self) -> Act | None:
        trial = self._step.rsplit(":", 1)[0]
        return next((act for name, act in self.acts.items() if trial.endswith(f"-l2-{name}")), None)


@dataclass(frozen=True)
class Played:
    """A campaign that has been run: trials and checks by workload name (an act's, or "after")."""

    trials: Mapping[str, Mapping[str, Any]]
    checks: Mapping[str, Mapping[str, Mapping[str, Any]]]
    at_ns: Mapping[str, int]
    outlived: Mapping[str, list[int]]

    def abort(self, name: str) -> tuple[str, str, str | None] | None:
        """Rule, axis and host of a trial's abort."""
        abort = self.trials[name]["abort"]
        return None if abort is None else (abort["rule"], abort["axis"], abort["host"])

    def verdicts(self, name: str, axis: str) -> dict[str, str]:
        """Check -> verdict, of one axis."""
        return {check: entry["verdict"] for check, entry in self.checks[name].items() if entry["axis"] == axis}

    def excluded_by(self, name: str) -> dict[str, str]:
        """The validity checks that keep a trial out of the comparison, with their verdicts."""
        return {c: v for c, v in self.verdicts(name, "validity").items() if v not in ("valid", "warn")}

    def over_s(self, name: str) -> float:
        """Seconds from the fault to the trial's last step."""
        return float(max(step["ended_ns"] for step in self.trials[name]["steps"]) - self.at_ns[name]) / 1e9


def play(system: str, acts: list[Act], inventory: Inventory, hosts: Mapping[str, SshHost], folder: Path) -> Played:
    """Runs one trial per act and an undisturbed one "after" them, then the real report."""
    file = folder / "faults.toml"
    workloads = [WORKLOAD.format(name=act.name, measure_s=act.measure_s) for act in acts]
    file.write_text(HEAD.format(system=system) + "".join([*workloads, WORKLOAD.format(name="after", measure_s=8)]))
    campaign = load_campaign(file)
    deployment = SYSTEMS[system].deployment(tuple(hosts.values()), Store(user_cache(), software()))
    saboteur = Saboteur({act.name: act for act in acts}, Scene(deployment, hosts))
    results = Results(folder / "results")
    instances = {host.name: host.instance_id for host in inventory.hosts}
    vetting = Vetted(VETTED_SCHEMA, instances, (), (), {"verdict": "accept", "rejected": []}, {})
    with saboteur.disks:
        run_campaign(prepare(campaign, file, "local"), inventory, vetting, results, saboteur, tarballs={}, repeat=[])
    make_report(results, master="local[2]", on_line=print)
    trials = {trial.rsplit("-l2-", 1)[1]: trial for trial in results.finished()}
    entries = json.loads(results.checks_file.read_text())
    return Played(
        trials={
            name: json.loads((results.trial_dir(trial) / "trial.json").read_text()) for name, trial in trials.items()
        },
        checks={name: {e["check"]: e for e in entries if e["trial"] == trial} for name, trial in trials.items()},
        at_ns=saboteur.at_ns,
        outlived=saboteur.outlived,
    )
