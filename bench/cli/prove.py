"""`samebox prove-durability`: is a durability level what it says? It traces real brokers and prints the verdicts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.campaign.order import empty_cells
from bench.campaign.prepared import Prepared, prepare
from bench.checkout import PROOFS
from bench.cli.detached import refuse_if_taken
from bench.cli.options import json_option, plain_option, software_option, target_options
from bench.cli.outcome import Outcome
from bench.cli.target import Target
from bench.cli.terminal import print_json, reporter_of, say, shown
from bench.progress import Reporter
from bench.proof.document import PROOF_FILE, basis_of, new_folder, proof_document
from bench.proof.prove import proof_campaign, prove_level, steps_of
from bench.results.folder import write_json
from bench.run.equipped import SOFTWARE_STEP, equip, store_for
from contract.durability import variant_of
from provisioning.cache import user_cache
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import connected
from provisioning.hosts.strace import require_strace
from provisioning.testbeds.local.lock import exclusive
from systems.profile import VENDOR_DEFAULT
from systems.software.added import needed

MARKS = {"proven": "[green]proven[/]", "not shown": "[yellow]not shown[/]", "disproved": "[bold red]disproved[/]"}


def _names(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    del context, parameter
    return tuple(name.strip() for name in value.split(",") if name.strip())


@click.command(name="prove-durability")
@click.option("--systems", default="", callback=_names, metavar="NAME,...", help="The systems to prove. Default: all.")
@click.option(
    "--durability",
    "levels",
    default="",
    callback=_names,
    metavar="LEVEL,...",
    help="The levels to prove. Default: all.",
)
@click.option("--messages", type=click.IntRange(1, 100_000), default=200, show_default=True, help="Messages per level.")
@click.option(
    "--system-profile",
    default=VENDOR_DEFAULT,
    show_default=True,
    metavar="NAME",
    help="The systems' settings, as a campaign's system_profile.",
)
@target_options
@software_option
@plain_option
@json_option
def prove_durability(
    systems: tuple[str, ...],
    levels: tuple[str, ...],
    messages: int,
    system_profile: str,
    target: Target,
    tarballs: Mapping[str, Path],
    plain: bool,
    as_json: bool,
) -> Outcome:
    """Prove that each durability level keeps its promise.

    Traces the brokers of a testbed that is up while messages are sent one at a time, and says what was synced, and on how many
    nodes, when each was acknowledged. Exits 2 if a level is disproved or could not be shown.
    """
    campaign = proof_campaign(systems, levels, messages, system_profile=system_profile)
    with exclusive(target.state):
        inventory = target.inventory()
        prepared = prepare(campaign, Path("samebox prove-durability"), inventory.testbed.kind, given=tarballs)
        tarballs = needed(tarballs, prepared.campaign.all_systems, user_cache())
        refuse_if_taken(inventory, target.typed)
        steps = [SOFTWARE_STEP, *(step for spec in prepared.trials for step in steps_of(spec))]
        with reporter_of(plain, steps) as reporter:
            folder, document = _prove(prepared, inventory, messages, reporter, tarballs)
    if as_json:
        print_json(document)
    else:
        _print(document)
    _conclude(document, folder, target)
    proven = all(cell["verdict"] == "proven" for cell in document["cells"])
    return Outcome.DONE if proven else Outcome.UNSOUND


def _prove(
    prepared: Prepared,
    inventory: Inventory,
    messages: int,
    reporter: Reporter,
    tarballs: Mapping[str, Path],
) -> tuple[Path, dict[str, Any]]:
    """Every level in turn; the document is rewritten after each, so that what was proven outlives an interruption."""
    began_ns, campaign = time.time_ns(), prepared.campaign
    with connected(inventory) as hosts:
        require_strace([host for host in hosts if host.record.role == "broker"])
        equipped = equip(prepared, hosts, store_for(inventory, tarballs, reporter), reporter)
        folder = new_folder(PROOFS, datetime.fromtimestamp(began_ns / 1e9, UTC))
        cells: list[dict[str, Any]] = []
        document: dict[str, Any] = {}
        for spec in prepared.trials:
            evidence = folder / f"{spec.system}-l{spec.durability}"
            cells.append(prove_level(spec, messages, equipped, reporter, evidence))
            document = proof_document(
                cells,
                empty_cells(campaign),
                inventory=inventory,
                software=equipped.software,
                bases={name: basis_of(name) for name in campaign.all_systems},
                samebox_version=metadata.version("samebox"),
                created_ns=began_ns,
            )
            write_json(folder / PROOF_FILE, document)
    return folder, document


def _print(document: Mapping[str, Any]) -> None:
    table = Table("system", "level", "promise", "verdict", "copies", "why", box=None, header_style="bold")
    for cell in document["cells"]:
        level, variant = cell["durability"], variant_of(cell["durability"])
        promise = f"{level['replication']} / {level['local']}{', ' + variant['name'] if variant else ''}"
        why = escape(cell["sentence"])
        table.add_row(cell["system"], level["name"], promise, MARKS[cell["verdict"]], _copies(cell), why)
    for cell in document["empty"]:
        table.add_row(cell["system"], cell["durability"], "", "-", "", cell["reason"])
    Console(highlight=False).print(table)
    click.echo(
        "copies: how many messages were on how many nodes when the acknowledgement came "
        "(in memory, for a variant that acknowledges from memory)"
    )


def _copies(cell: Mapping[str, Any]) -> str:
    """On how many nodes the messages were, a line each: in a file, or in memory where no file is meant to be written."""
    if cell["evidence"] is None:
        return ""
    state = "arrived" if (variant_of(cell["durability"]) or {}).get("in_memory") else "written"
    counts = enumerate(cell["evidence"][state])
    return "\n".join(f"{nodes} node{'s' * (nodes != 1)}: {messages}" for nodes, messages in counts if messages)


def _conclude(document: Mapping[str, Any], folder: Path, target: Target) -> None:
    say(f"Evidence, with the traces: {shown(folder)}")
    unsure = [cell for cell in document["cells"] if cell["verdict"] == "not shown"]
    if unsure:
        systems = ",".join(dict.fromkeys(cell["system"] for cell in unsure))
        levels = ",".join(dict.fromkeys(cell["durability"]["name"] for cell in unsure))
        again = f"samebox prove-durability --systems {systems} --durability {levels}{target.typed}"
        say(f"To try again what was not shown: {again}")
