"""From anywhere to a campaign that runs by itself: follow it, bring its records home, start it again if it died, give it up.

The campaign needs none of this to go on; a cut connection or Ctrl-C ends the watching and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from bench.orchestrator.fetch import fetch_notes, fetch_results
from bench.orchestrator.launch import end, give_back, start
from bench.orchestrator.place import orchestrator_of, place_on
from bench.orchestrator.state import State, read_state
from bench.results.folder import Results
from provisioning.errors import HostError, MissingRequirement, SameboxError
from provisioning.hosts import daemons
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
    """Somebody who watches: `say` gets lines worth keeping, `detail` what goes on right now."""

    host: Host
    inventory: Inventory
    results: Results
    typed: str  # the options that name the testbed
    say: Say
    detail: Say

    def follow(self) -> None:
        """Until the campaign has finished and its records are here. One that died or failed is started again, once.

        Raises SameboxError when it fails (again), with what finished fetched; MissingRequirement when it isn't set up whole.
        """
        state, log_from = read_state(self.host), None
        if state.phase == "claimed":
            raise MissingRequirement(
                f"{state.lines()[0]}.", next_step=f"If that run is dead: `samebox abandon{self.typed}`"
            )
        campaign = state.claim.campaign if state.claim else ""
        if state.phase in ("died", "failed"):
            self._start_again(state)
            log_from = state.log_end
        state = self._until_it_ends(campaign, log_from)
        fetch_results(self.host, campaign, self.results, self.detail)
        if state.phase != "finished":
            again = f"samebox resume {self.results.root}{self.typed}"
            raise SameboxError(
                f"{state.lines()[0]}.", next_step=f"{state.next_step} Then `{again}` starts it again.".strip()
            )
        self._require_whole()

    def _start_again(self, state: State) -> None:
        self.say(state.lines()[0])
        left_s = state.progress.left_s if state.progress else 0.0
        require_time(self.inventory.expires, left_s, datetime.now(UTC))
        start(self.host, place_on(self.host.record))
        self.say("started again; finished trials are kept")

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
                        f"lost sight of it: {error}",
                        next_step=f"It continues by itself. Check again: samebox resume {self.results.root}{self.typed}",
                    ) from None
            time.sleep(POLL_WHILE_MEASURING_S if measuring else POLL_S)

    def _require_whole(self) -> None:
        planned = {entry["trial"] for entry in self.results.manifest("order")["order"]}
        missing = sorted(planned - set(self.results.finished()))
        if missing:
            raise SameboxError(
                f"{self.host.name} says that the campaign has finished, but {', '.join(missing)} could not be fetched.",
                next_step=f"Its records stay where they are: {place_on(self.host.record).folder} on {self.host.name}.",
            )


def give_up(inventory: Inventory, results: Results, state: State, detail: Say) -> tuple[str, ...]:
    """Ends the campaign and its systems, brings what is finished here, and gives the testbed back.

    Returns the hosts that still list the orchestrator's key, which opens nothing any more. Raises SameboxError.
    """
    with connected(inventory) as hosts:
        host = next(each for each in hosts if each.name == orchestrator_of(inventory).name)
        place = place_on(host.record)
        detail("ending it")
        end(host, place)
        daemons.stop_everything(hosts)
        if state.claim is not None:
            fetch_results(host, state.claim.campaign, results, detail)
            fetch_notes(host, state.claim.campaign, results)
        return give_back(hosts, host, place)


def release(inventory: Inventory) -> tuple[str, ...]:
    """Gives the testbed back after a campaign that has finished and was fetched; returns the hosts that still list the key."""
    with connected(inventory) as hosts:
        host = next(each for each in hosts if each.name == orchestrator_of(inventory).name)
        return give_back(hosts, host, place_on(host.record))
