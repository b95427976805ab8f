"""Follows a detached campaign from any machine: fetches its records, restarts it if it died, ends it.

The campaign doesn't depend on being followed: a cut connection or Ctrl-C ends the following and nothing else.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.orchestrator.launch import end, give_back, orchestrator_among, start
from bench.orchestrator.place import place_on
from bench.orchestrator.state import AGENT, State, read_state
from bench.results.folder import Results
from contract import results_folder as layout
from provisioning.errors import HostError, InvalidInput, MissingRequirement, SameboxError
from provisioning.hosts import daemons
from provisioning.hosts.agents import ask
from provisioning.hosts.host import Host
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import connected
from provisioning.testbeds.aws.time_to_live import require_time

POLL_S = 5.0
# Each look starts a program on the orchestrator's host, which without metadata hosts is one that measures.
POLL_WHILE_MEASURING_S = 20.0
# A laptop that was closed comes back with its connections cut and its network not up yet.
UNREACHABLE_S = 60.0
LOAD = ": load"  # the step in which a campaign measures

Say = Callable[[str], None]


@dataclass(frozen=True)
class Attached:
    """A session that follows a campaign: `say` gets lines worth keeping, `detail` what goes on right now."""

    host: Host
    inventory: Inventory
    results: Results
    typed: str  # the options that name the testbed
    say: Say
    detail: Say

    def follow(self) -> None:
        """Until the campaign has finished and its records are here. One that died or failed is restarted, once.

        Raises SameboxError when it fails (again), after fetching finished trials; MissingRequirement when its setup isn't complete.
        """
        state, log_from = read_state(self.host), None
        if state.phase == "claimed":
            raise MissingRequirement(
                f"{state.lines()[0]}.", next_step=f"If that run is dead: `samebox abandon{self.typed}`"
            )
        campaign = state.claim.campaign if state.claim else ""
        if state.phase in ("died", "failed"):
            self._start_again(state)
            log_from = 0  # its log is a new one
        state = self._until_it_ends(campaign, log_from)
        fetch_results(self.host, campaign, self.results, self.detail)
        if state.phase != "finished":
            again = f"samebox resume {self.results.root}{self.typed}"
            raise SameboxError(
                f"{state.lines()[0]}.", next_step=f"{state.next_step} Then `{again}` restarts it.".strip()
            )
        self._require_whole()

    def _start_again(self, state: State) -> None:
        self.say(state.lines()[0])
        left_s = state.progress.left_s if state.progress else 0.0
        require_time(self.inventory.expires, left_s, datetime.now(UTC))
        start(self.host)
        self.say("restarted; finished trials are kept")

    def _until_it_ends(self, campaign: str, log_from: int | None) -> State:
        lost_since: float | None = None
        measuring = False
        while True:
            try:
                state = read_state(self.host, log_from=log_from)
                lost_since = None
                for line in state.log.splitlines():
                    self.say(line)
                log_from = state.log_end
                if state.phase != "running":
                    return state
                if state.progress is not None:
                    measuring = state.progress.title.endswith(LOAD)
                    self.detail(f"{state.progress.title}: {state.progress.detail}".removesuffix(": "))
                if not measuring:
                    fetch_results(self.host, campaign, self.results, self.detail)
            except HostError as error:
                lost_since = lost_since or time.monotonic()
                if time.monotonic() - lost_since > UNREACHABLE_S:
                    raise SameboxError(
                        f"lost contact with the campaign: {error}",
                        next_step=f"It continues on its host. Follow it again: samebox resume {self.results.root}{self.typed}",
                    ) from None
            time.sleep(POLL_WHILE_MEASURING_S if measuring else POLL_S)

    def _require_whole(self) -> None:
        planned = {entry["trial"] for entry in self.results.manifest("order")["order"]}
        missing = sorted(planned - set(self.results.finished()))
        if missing:
            raise SameboxError(
                f"{self.host.name} reports that the campaign has finished, but {', '.join(missing)} could not be fetched.",
                next_step=f"Its records are kept there: {place_on(self.host.record).folder} on {self.host.name}.",
            )


def give_up(inventory: Inventory, results: Results, state: State, detail: Say) -> tuple[str, ...]:
    """Ends the campaign and its systems, fetches what is finished, and frees the testbed.

    Returns the hosts that still list the orchestrator's key, which opens nothing any more. Raises SameboxError.
    """
    with connected(inventory) as hosts:
        host = orchestrator_among(hosts, inventory)
        detail("ending it")
        end(host)
        daemons.stop_everything(hosts)
        if state.claim is not None:
            fetch_results(host, state.claim.campaign, results, detail)
            fetch_notes(host, state.claim.campaign, results)
        return give_back(hosts, host)


def release(inventory: Inventory) -> tuple[str, ...]:
    """Frees the testbed of a campaign that has finished and was fetched; returns the hosts that still list the key."""
    with connected(inventory) as hosts:
        return give_back(hosts, orchestrator_among(hosts, inventory))


# Listing many trials' files on a host that is under load.
LISTING_TIMEOUT_S = 120.0


def fetch_results(host: Host, campaign: str, results: Results, on_progress: Callable[[str], None]) -> tuple[str, ...]:
    """Fetches the campaign's own files if `results` isn't there yet, and each finished trial that it lacks; returns those.

    Each file is checked by its SHA-256. Raises InvalidInput when `results` is of another run, HostError.
    """
    there = place_on(host.record).results_dir(campaign)
    listing = _listing(host, there)
    if not listing["campaign"]:
        return ()
    if results.root.exists():
        _require_same(host, there, results)
    else:
        _begin(host, there, listing["campaign"], results)
    missing = [trial for trial in sorted(listing["trials"]) if trial not in results.finished()]
    for trial in missing:
        on_progress(f"fetching {trial}")
        partial = results.begin_trial(trial)
        _fetch_files(host, f"{there}/{layout.trial_folder(trial)}", listing["trials"][trial], partial)
        partial.rename(results.trial_dir(trial))
    return tuple(missing)


def fetch_notes(host: Host, campaign: str, results: Results) -> None:
    """Fetches what is noted of attempts at unfinished trials. Only for a campaign that has ended: until then notes change.

    `results` is there already, or nothing is fetched. Raises HostError.
    """
    if results.root.exists():
        there = place_on(host.record).results_dir(campaign)
        listing = _listing(host, there)
        _fetch_files(host, there, listing["notes"], results.root)


def _require_same(host: Host, there: str, results: Results) -> None:
    results.manifest()
    if results.manifest_file.read_bytes() != host.get(f"{there}/{layout.MANIFEST}"):
        raise InvalidInput(
            f"{results.root} is of another run of this campaign than the one on {host.name}.",
            next_step=f"Move it out of the way, then run the same command again: mv {results.root} {results.root}-earlier",
        )


def _listing(host: Host, folder: str) -> Any:
    request = {
        "verb": "files",
        "folder": folder,
        "manifest": layout.MANIFEST,
        "begun": layout.BEGUN,
        "noted": layout.NOTED,
        "whole_trials": layout.WHOLE_TRIALS,
    }
    return ask(host, AGENT, request, timeout_s=LISTING_TIMEOUT_S)


def _begin(host: Host, there: str, files: Mapping[str, int], results: Results) -> None:
    aside = results.root.with_name(f".{results.root.name}.partial")
    shutil.rmtree(aside, ignore_errors=True)
    (aside / layout.TRIALS).mkdir(parents=True)
    _fetch_files(host, there, files, aside)
    aside.rename(results.root)


def _fetch_files(host: Host, folder: str, files: Mapping[str, int], target: Path) -> None:
    for name, size_bytes in files.items():
        host.fetch(f"{folder}/{name}", target / name)
        if (target / name).stat().st_size != size_bytes:
            raise HostError(
                host.name, f"{folder}/{name} changed while it was fetched, which a finished trial never does."
            )
