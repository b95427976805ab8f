"""What the commands do about a campaign that runs by itself on a testbed host; and `samebox abandon`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from bench.campaign.prepared import Prepared
from bench.checkout import RESULTS
from bench.cli.options import Target, console, inventory_option, shown, stack_option, target_of
from bench.orchestrator.attach import Attached, give_up, release
from bench.orchestrator.launch import launch, orchestrator_host, require_free
from bench.orchestrator.state import State, read_state
from bench.progress import Reporter
from bench.results.folder import Results
from bench.run.vetted import Vetted
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
    """Raises MissingRequirement when a detached campaign has the testbed: what measures there isn't to be disturbed."""
    try:
        state = detached_state(inventory)
    except HostUnreachable:
        with connected(inventory) as hosts:  # it may not be the only one, and all are to be named
            on_all("logging in", hosts, lambda host: host.run("true"))
        raise
    require_free(state, typed)


def leave(
    prepared: Prepared,
    inventory: Inventory,
    vetting: Vetted,
    results: Results,
    reporter: Reporter,
    *,
    tarballs: Mapping[str, Path],
    repeat: Sequence[str],
    typed: str,
) -> None:
    """Leaves the campaign to a testbed host, and says how to find it again."""
    name = launch(prepared, inventory, vetting, reporter, tarballs=tarballs, repeat=repeat, typed=typed)
    reporter.notice(f"It runs by itself on {name}; this machine isn't needed any more.")
    reporter.notice(f"How far it is: samebox status{typed}")
    reporter.notice(f"Follow it, and get its records and report: samebox resume {shown(results.root)}{typed}")


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

            def say(line: str) -> None:
                console.print(line, markup=False)

            try:
                Attached(host, inventory, results, typed, say, detail).follow()
            except KeyboardInterrupt:
                say(
                    "No longer watched; the campaign goes on. "
                    f"Again: samebox resume {shown(results.root)}{typed}   End it: samebox abandon{typed}"
                )
                raise
    _note_keys_left(release(inventory))
    return True


@click.command()
@inventory_option
@stack_option
def abandon(inventory_file: Path | None, stack_name: str | None) -> None:
    """Give up a campaign that runs by itself: end it, fetch its finished trials, leave nothing of it on the hosts."""
    target: Target = target_of(inventory_file, stack_name)
    with exclusive(target.state):
        inventory = target.inventory()
        state = detached_state(inventory)
        if state.claim is None:
            console.print("No campaign runs by itself there.")
            return
        results = Results(RESULTS / state.claim.campaign)
        with console.status(state.claim.sentence()) as status:
            keys_left = give_up(inventory, results, state, status.update)
        _note_keys_left(keys_left)
    there = f"; {len(results.finished())} trials are in {shown(results.root)}" if results.root.exists() else ""
    console.print(f"Given up{there}.", markup=False)


def _note_keys_left(hosts: Sequence[str]) -> None:
    if hosts:
        console.print(
            f"note: {', '.join(hosts)} didn't answer, and still list the campaign's key in authorized_keys. "
            "Its private half is gone, so it opens nothing.",
            markup=False,
        )
