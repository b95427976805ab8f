"""What the commands do about a detached campaign, which runs on a testbed host; and `samebox abandon`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from bench.checkout import RESULTS
from bench.cli.options import target_options
from bench.cli.target import Target
from bench.cli.terminal import console, say, shown
from bench.orchestrator.attach import Attached, give_up, release
from bench.orchestrator.launch import orchestrator_host, require_free
from bench.orchestrator.state import State, read_state
from bench.results.folder import Results
from provisioning.errors import HostUnreachable
from provisioning.hosts.host import on_all
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import connected
from provisioning.testbeds.local.lock import exclusive


def detached_state(inventory: Inventory) -> State:
    """How a detached campaign on the testbed stands."""
    with orchestrator_host(inventory) as host:
        return read_state(host)


def refuse_if_taken(inventory: Inventory, typed: str) -> None:
    """Raises MissingRequirement when a detached campaign has the testbed: it must not be disturbed while it measures."""
    try:
        state = detached_state(inventory)
    except HostUnreachable:
        with connected(inventory) as hosts:  # to name every host that doesn't answer
            on_all("logging in", hosts, lambda host: host.run("true"))
        raise
    require_free(state, typed)


def bring_home(inventory: Inventory, results: Results, typed: str, *, plain: bool) -> bool:
    """Follows the detached campaign that has the testbed until its records are here, then gives the testbed back.

    Returns whether there was one. Raises MissingRequirement if it isn't the one of `results`.
    """
    with orchestrator_host(inventory) as host:
        state = read_state(host)
        if state.claim is None:
            return False
        if state.claim.campaign != results.root.name:
            require_free(state, typed)
        with console.status(state.claim.sentence()) as status:

            def detail(text: str) -> None:
                if not plain:
                    status.update(text)

            try:
                Attached(host, inventory, results, typed, say, detail).follow()
            except KeyboardInterrupt:
                say(
                    f"Stopped following; the campaign continues. Follow it again: samebox resume {shown(results.root)}{typed}   "
                    f"End it: samebox abandon{typed}"
                )
                raise
    _note_keys_left(release(inventory))
    return True


@click.command()
@target_options
def abandon(target: Target) -> None:
    """End a detached campaign before it has finished.

    Its finished trials are fetched, and nothing of it is left on the hosts.
    """
    with exclusive(target.state):
        inventory = target.inventory()
        state = detached_state(inventory)
        if state.claim is None:
            say("No detached campaign is there.")
            return
        results = Results(RESULTS / state.claim.campaign)
        with console.status(state.claim.sentence()) as status:
            keys_left = give_up(inventory, results, state, status.update)
        _note_keys_left(keys_left)
    there = f"; {len(results.finished())} trials are in {shown(results.root)}" if results.root.exists() else ""
    say(f"Abandoned{there}.")


def _note_keys_left(hosts: Sequence[str]) -> None:
    if hosts:
        say(
            f"note: {', '.join(hosts)} didn't answer, and still list the campaign's key in authorized_keys. "
            "Its private half is gone, so it opens nothing."
        )
