"""`samebox plan`: what of a campaign would run, in which order, how long, on how much disk, and what stays empty."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Sequence
from typing import Any

import click
from rich.table import Table

from bench.campaign.available import untried
from bench.campaign.campaign import Campaign
from bench.campaign.choice import Choice
from bench.campaign.contestant_differences import contestant_differences, told
from bench.campaign.cross_check import left_out
from bench.campaign.estimate import USABLE_SHARE, gibibytes, largest_need, need_of
from bench.campaign.order import TrialSpec, empty_cells
from bench.campaign.prepared import Prepared, prepare
from bench.campaign.producer_rates import beyond_a_process, warning_lines
from bench.checkout import HOME
from bench.cli.campaign import VETTING_STEP
from bench.cli.cost import cost_of, dollars, vetting_step
from bench.cli.omb import Chosen, campaign_or_omb
from bench.cli.options import choice_options, given, json_option, stack_option
from bench.cli.report import EMR_STEP
from bench.cli.target import read_thresholds, stack_kind
from bench.cli.terminal import print_json, table_console
from bench.progress import clock_text
from bench.run.revetting import planned_probes
from bench.run.runner import report_step, steps_to_run
from bench.run.trial import steps_of
from contract.workload import Workload, document_of

FEWEST_BLOCKS = 6  # of an interval, and so of a noise band; analysis' own number


@click.command()
@campaign_or_omb
@choice_options
@stack_option("Plan for this stack on AWS, and show what it costs there.")
@json_option
def plan(chosen: Chosen, choice: Choice, stack_name: str | None, as_json: bool) -> None:
    """Show what a campaign would run, without starting anything.

    Prints the trials in order, the time they take, the bytes on disk, which combinations stay empty, and what differs from the
    published experiment. Without --stack the bytes are compared with the free space on this machine's disk.
    """
    prepared = prepare(chosen.campaign, chosen.file, stack_kind() if stack_name else "local", choice, given())
    if as_json:
        print_json(_document(prepared, stack_name))
    else:
        print_plan(prepared, stack_name)


def print_plan(prepared: Prepared, stack_name: str | None = None) -> None:
    """The trials in their order, and what there is to know beforehand. `stack_name`: what it costs there."""
    document = _document(prepared, stack_name)
    table_console().print(_table(prepared.trials))
    for line in _lines(prepared, document):
        click.echo(line)


def _document(prepared: Prepared, stack: str | None) -> dict[str, Any]:
    """The plan as plain data; `disk` is null on a stack, `cost` (US dollars) without one."""
    campaign = prepared.campaign
    first, last = VETTING_STEP, report_step(len(prepared.trials))
    if stack:
        first, last = vetting_step(stack, read_thresholds()), EMR_STEP
    steps = [first, *steps_to_run(prepared, ()), last]
    uncrossed = left_out(prepared.trials) if campaign.cross_check else ()
    return {
        "campaign": campaign.name,
        **prepared.choice.to_json(campaign),
        "estimate_s": sum(step.estimate_s for step in steps),
        "differs": list(campaign.differs),
        "experiments": [
            {"id": each.id, "title": each.title, "durability": list(each.durability), "differs": list(each.differs)}
            for each in campaign.questions
        ],
        "contestant_differences": contestant_differences(campaign, prepared.intended),
        "trials": [_trial(trial) for trial in prepared.trials],
        "empty_cells": [dataclasses.asdict(cell) for cell in empty_cells(campaign)],
        "untried": [{"system": name, "what": what} for name, what in untried(campaign).items()],
        "not_cross_checked": [dataclasses.asdict(entry) for entry in uncrossed],
        "beyond_a_process": [each.to_json() for each in beyond_a_process(prepared.trials)],
        "disk": None if stack else _disk(prepared.trials),
        "cost": {"stack": stack, **cost_of(prepared, stack).to_json()} if stack else None,
    }


def _trial(trial: TrialSpec) -> dict[str, Any]:
    return {
        **trial.to_json(),
        "workload": {**document_of(trial.workload), "planned_rate_per_s": trial.workload.planned_rate_per_s},
        "bytes": need_of(trial).bytes,
        "estimate_s": sum(step.estimate_s for step in steps_of(trial)),
    }


def _disk(trials: Sequence[TrialSpec]) -> dict[str, Any]:
    """The largest trial and this machine's disk, on which all hosts of the local testbed lie."""
    largest = largest_need(trials)
    usable = int(shutil.disk_usage(HOME).free * USABLE_SHARE)
    return {**dataclasses.asdict(largest), "usable_bytes": usable, "fits": largest.bytes <= usable}


def _table(trials: Sequence[TrialSpec]) -> Table:
    table = Table(box=None, header_style="bold")
    for heading in ("experiment", "block", "contestant", "level", "workload"):
        table.add_column(heading, overflow="fold")
    for heading in ("messages a second", "on disk", "time"):
        table.add_column(heading, justify="right", no_wrap=True)
    for trial in trials:
        table.add_row(
            trial.experiment,
            f"{trial.block}.{trial.position}" + (" A/A" if trial.block_kind == "A/A" else ""),
            trial.contestant.name,
            trial.durability,
            trial.workload.name + (" (native tools)" if trial.generator == "native" else ""),
            _rate(trial.workload),
            gibibytes(need_of(trial).bytes),
            clock_text(sum(step.estimate_s for step in steps_of(trial))),
        )
    return table


def _rate(workload: Workload) -> str:
    if workload.pacing == "open-loop":
        return f"{workload.rate_per_s:,}"
    return f"{workload.pacing}, up to {workload.rate_per_s:,}"


def _lines(prepared: Prepared, document: dict[str, Any]) -> list[str]:
    campaign, scale = prepared.campaign, document["scale"]
    counted = f"{len(prepared.trials)} trials in {_counted_blocks(campaign)}"
    lines = [f"{counted}, about {clock_text(document['estimate_s'])} in all.", *_noise_lines(campaign)]
    lines += told(document["contestant_differences"])
    if probes := planned_probes(prepared.trials, campaign.revet_every_h):
        lines.append(f"Disks are probed again {len(probes)} times (revet_every_h = {campaign.revet_every_h:g}).")
    if scale:
        lines += [f"Scale {scale['name']}:", *(f"  {rule}" for rule in scale["rules"])]
    if prepared.choice.representative:
        lines.append("Representative: one workload at one durability level stands for each experiment.")
    disturbed = {(spec.workload.name, fault.words): None for spec in prepared.trials for fault in spec.workload.faults}
    lines += [f"Fault in {workload}: {words}." for workload, words in disturbed]
    if campaign.differs or any(each.differs for each in campaign.questions):
        lines += ["Done differently than published:", *(f"  all: {sentence}" for sentence in campaign.differs)]
        lines += _gathered([(sentence, each.id) for each in campaign.questions for sentence in each.differs])
    if cells := document["empty_cells"]:
        lines += ["Stays empty:", *_gathered([(_cell(cell), cell["experiment"]) for cell in cells])]
    if alone := document["not_cross_checked"]:
        sentences = [(f"{entry['system']}: {entry['reason']}", entry["workload"]) for entry in alone]
        lines += ["Not cross-checked:", *_gathered(sentences)]
    lines += [f"Never run by samebox's makers: {each['system']}. {each['what']}" for each in document["untried"]]
    lines += warning_lines(beyond_a_process(prepared.trials))
    lines.append(_disk_line(document["disk"]) if document["disk"] else _cost_line(document["cost"]))
    return lines


def _counted_blocks(campaign: Campaign) -> str:
    blocks = f"{campaign.blocks} block{'s' if campaign.blocks > 1 else ''}"
    if not campaign.aa_blocks:
        return blocks
    return f"{blocks} and {campaign.aa_blocks} A/A block{'s' if campaign.aa_blocks > 1 else ''}"


def _noise_lines(campaign: Campaign) -> list[str]:
    """What A/A blocks are too few for: a band takes as many of a pair's own as there are blocks, and at least 6 of each."""
    compared, pair = len(campaign.compared), max(campaign.blocks, FEWEST_BLOCKS)
    needed = pair if compared <= 2 else compared * -(-pair // 2)
    if not campaign.aa_blocks or campaign.aa_blocks >= needed:
        return []
    return [f"Too few A/A blocks for a noise band of every pair: it takes aa_blocks = {needed} (docs/statistics.md)."]


def _cell(cell: dict[str, Any]) -> str:
    level = f" at level {cell['durability']}" if cell["durability"] else ""
    return f"{cell['system']}{level}: {cell['reason']}"


def _gathered(found: Sequence[tuple[str, str]]) -> list[str]:
    """A line per sentence, with all experiments (or workloads) for which it holds."""
    experiments: dict[str, list[str]] = {}
    for sentence, experiment in found:
        experiments.setdefault(sentence, []).append(experiment)
    return [f"  {', '.join(names)}: {sentence}" for sentence, names in experiments.items()]


def _disk_line(disk: dict[str, Any]) -> str:
    free = gibibytes(disk["usable_bytes"])
    said = f"The largest trial, {disk['trial']}, puts about {gibibytes(disk['bytes'])} on disk ({disk['sentence']}); "
    if disk["fits"]:
        return f"{said}half of what is free on this machine is {free}."
    return f"{said}half of what is free on this machine is only {free}: a run here is refused. Use a smaller --scale, or --stack."


def _cost_line(cost: dict[str, Any]) -> str:
    return (
        f"On stack {cost['stack']} about {dollars(cost['total'])} in all, hosts for {cost['hours']:.1f} h with standing up, "
        f"vetting and tearing down. Its parts: samebox cost CAMPAIGN --stack {cost['stack']}"
    )
