"""Leaves a campaign to a testbed host: claims the testbed, brings what is needed, starts the process."""

from __future__ import annotations

import dataclasses
import getpass
import json
import os
import platform
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bench.campaign.estimate import USABLE_SHARE, gibibytes, record_bytes
from bench.campaign.order import TrialSpec
from bench.campaign.prepared import Prepared
from bench.checkout import CHECKOUT
from bench.orchestrator import keys
from bench.orchestrator.place import PROCESS, TASK_SCHEMA, Place, Task, orchestrator_of, place_on, seen_from_inside
from bench.orchestrator.state import AGENT, Claim, State, now_text, read_state
from bench.progress import Reporter, Step
from bench.run.equipped import equip, store_for
from bench.run.manifest import origin_of
from bench.run.vetted import Vetted
from provisioning.cache import user_cache
from provisioning.errors import CommandFailed, HostError, HostUnreachable, MissingRequirement, SameboxError
from provisioning.hosts import daemons
from provisioning.hosts.agents import ask
from provisioning.hosts.host import Host
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import connected
from provisioning.software.python_environment import REPOSITORY, Environment, deploy_environment
from systems.release import project_files

ORCHESTRATOR = Environment(
    "orchestrator",
    REPOSITORY / "bench" / "orchestrator" / "requirements.lock",
    "samebox",
    ("bench", "contract", "provisioning", "systems", "disk-checks"),
)
HANDOVER_STEP = Step("the campaign onto its host", 20.0)
REACH_TIMEOUT_S = 120.0
END_GRACE_S = 90.0


@contextmanager
def orchestrator_host(inventory: Inventory) -> Iterator[Host]:
    """The connected host that runs detached campaigns."""
    record = orchestrator_of(inventory)
    with connected(dataclasses.replace(inventory, hosts=(record,))) as (host,):
        yield host


def orchestrator_among(hosts: Sequence[Host], inventory: Inventory) -> Host:
    """The one of an inventory's connected hosts that runs detached campaigns."""
    return next(host for host in hosts if host.name == orchestrator_of(inventory).name)


def require_free(state: State, typed: str) -> None:
    """Raises MissingRequirement when a detached campaign has the testbed. `typed`: the options that name the testbed."""
    if state.claim is None:
        return
    attach = f"samebox resume results/{state.claim.campaign}{typed}"
    step = f"`{attach}` follows it and brings its records here; `samebox abandon{typed}` ends it."
    raise MissingRequirement(f"the testbed is taken. {state.lines()[0]}.", next_step=step)


def launch(
    prepared: Prepared,
    inventory: Inventory,
    vetting: Vetted,
    reporter: Reporter,
    *,
    tarballs: Mapping[str, Path],
    repeat: Sequence[str],
    typed: str,
) -> str:
    """Starts the campaign on its host and returns the host's name. `typed`: the options that name the testbed.

    Whatever fails, the testbed is left unclaimed.

    1. claim the testbed: only one detached campaign at a time runs there
    2. install everything on all hosts from here, because they may have no internet
    3. upload samebox, its libraries, the campaign, the vetting, and the inventory as seen from inside
    4. authorise a key that is made there, and check that it opens every host
    5. start the process in a session of its own
    """
    with connected(inventory) as hosts:
        host = orchestrator_among(hosts, inventory)
        place = place_on(host.record)
        if inventory.records_bucket is None:
            _require_room(host, prepared.trials)
        _claim(host, prepared.campaign.name, typed)
        try:
            store = store_for(inventory, tarballs, reporter)
            equip(prepared, hosts, store, reporter)
            reporter.step(HANDOVER_STEP.title)
            python = deploy_environment(ORCHESTRATOR, [host], user_cache(), reporter.detail)[host.name]
            _hand_over(host, prepared, vetting, tarballs, repeat)
            key = keys.make_key(host)
            host.put(seen_from_inside(inventory, place.identity_file).to_json().encode(), place.inventory_file)
            keys.authorise(hosts, key)
            _require_reach(host, place, python)
            host.put(json.dumps(_daemon(place, python)).encode(), place.start_file)
            start(host)
        except BaseException:
            # the first error is raised; a claim that is left is reported, with the way out, by the next command
            with suppress(SameboxError):
                end(host)
                give_back(hosts, host)
            raise
        return host.name


def start(host: Host) -> None:
    """Starts the process, the first time or again; refuses while it runs. Raises SameboxError."""
    place = place_on(host.record)
    daemon = json.loads(host.get(place.start_file))
    host.run(f"rm -f {shlex.quote(place.outcome_file)}")
    answer = ask(host, daemons.AGENT, {"verb": "start", "run_dir": place.run_dir, "daemons": [daemon]})
    if "error" in answer:
        raise SameboxError(f"{host.name}: the campaign can't be started there: {answer['error']}")


def end(host: Host) -> None:
    """Ends the process, if it runs, as Ctrl-C does: with the trial's systems stopped. Raises HostError if it stays."""
    request = {
        "verb": "stop",
        "run_dir": place_on(host.record).run_dir,
        "names": None,
        "tier": None,
        "grace_s": END_GRACE_S,
        "kill_wait_s": daemons.KILL_WAIT_S,
    }
    answer = ask(host, daemons.AGENT, request, timeout_s=END_GRACE_S + 2 * daemons.KILL_WAIT_S)
    if answer["left"]:
        raise HostError(host.name, f"the campaign's process still runs after SIGKILL: {answer['left']}")


def give_back(hosts: Sequence[Host], host: Host) -> tuple[str, ...]:
    """Removes the key on all hosts and the folder with its private half; returns the hosts that still list the key."""
    still = keys.withdraw(hosts)
    host.run(f"rm -rf -- {shlex.quote(place_on(host.record).folder)}")
    return still


def _claim(host: Host, campaign: str, typed: str) -> None:
    try:
        user = getpass.getuser()
    except KeyError:  # a container's user without an entry in /etc/passwd
        user = f"user {os.geteuid()}"
    claim = Claim(campaign, f"{user}@{platform.node()}", now_text())
    request = {"verb": "claim", "folder": place_on(host.record).folder, "claim": dataclasses.asdict(claim)}
    if not ask(host, AGENT, request)["claimed"]:
        require_free(read_state(host), typed)
        raise MissingRequirement(
            "the testbed was taken a moment ago, and is free again.", next_step="Run the same command again."
        )


def _hand_over(
    host: Host, prepared: Prepared, vetting: Vetted, tarballs: Mapping[str, Path], repeat: Sequence[str]
) -> None:
    place = place_on(host.record)
    campaign_file = f"{place.folder}/campaign/{prepared.campaign_file.name}"
    there = {}
    for system, tarball in tarballs.items():
        there[system] = f"{place.folder}/tarballs/{tarball.name}"
        host.push(tarball, there[system])
    task = Task(TASK_SCHEMA, campaign_file, there, tuple(repeat), origin_of(CHECKOUT), prepared.choice)
    host.push(prepared.campaign_file, campaign_file)
    for name in prepared.campaign.sources:
        host.push(prepared.campaign_file.with_name(name), f"{place.folder}/campaign/{name}")
    for name, file in project_files():  # the folder is the process's SAMEBOX_HOME
        host.push(file, f"{place.folder}/{name}")
    host.put(json.dumps(dataclasses.asdict(task)).encode(), place.task_file)
    host.put(json.dumps(dataclasses.asdict(vetting)).encode(), place.vetting_file)


def _daemon(place: Place, python: str) -> dict[str, Any]:
    argv = (*shlex.split(python), "-m", "bench.orchestrator.process", place.folder)
    env = {"SAMEBOX_HOME": place.folder, "XDG_CACHE_HOME": f"{place.folder}/cache"}
    return dataclasses.asdict(daemons.Daemon(PROCESS, argv, place.log_file, env))


def _require_reach(host: Host, place: Place, python: str) -> None:
    """Raises HostUnreachable if the orchestrator's host can't log in to all hosts with its key."""
    try:
        host.run(f"{python} -m bench.orchestrator.reach {shlex.quote(place.inventory_file)}", timeout_s=REACH_TIMEOUT_S)
    except CommandFailed as error:
        raise HostUnreachable(
            host.name,
            f"a detached campaign can't run from here: {error.completed.stderr.strip()[-800:]}",
            next_step="Hosts must reach each other's SSH port by the `address` of the inventory, and their SSH servers must read "
            "~/.ssh/authorized_keys. Without that: `samebox run` without --detach.",
        ) from None


def _require_room(host: Host, trials: Sequence[TrialSpec]) -> None:
    """All trials' records lie on the orchestrator's host until they are fetched. Raises MissingRequirement."""
    root = shlex.quote(host.record.root)
    free = int(host.run(f"mkdir -p {root} && df -B1 --output=avail -- {root} | tail -n1").stdout)
    need = sum(int(record_bytes(trial)) for trial in trials)
    if need > free * USABLE_SHARE:
        raise MissingRequirement(
            f"not enough disk on {host.name}: the records of all trials take up to {gibibytes(need)} there until they are "
            f"fetched, and half of what is free is {gibibytes(free * USABLE_SHARE)}.",
            next_step="Give that host a larger root volume, split the campaign, or run it without --detach.",
        )
