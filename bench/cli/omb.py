"""What a command runs: a campaign file, or workload files of OpenMessaging Benchmark (--omb) made into one."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from bench.campaign.campaign import LARGEST_SEED, Campaign
from bench.campaign.campaign_file import load_campaign
from bench.checkout import STATE
from bench.cli.options import PATH, one_value
from bench.cli.terminal import say, shown
from bench.omb.campaign import Choices, write_campaign
from provisioning.errors import InvalidInput
from systems.registry import DURABILITY, SYSTEMS

DEFAULTS = Choices(systems=tuple(SYSTEMS), durability=("1",), blocks=1, seed=1)


@dataclass(frozen=True)
class Chosen:
    """A campaign, its file, and the words that name it on the command line. `differences`: from what workload files ask."""

    campaign: Campaign
    file: Path
    typed: str
    differences: tuple[str, ...] = ()

    def announce(self) -> None:
        """Prints the differences."""
        for sentence in self.differences:
            say(f"- {sentence}")


def _chosen(
    files: tuple[Path, ...], omb: bool, systems: tuple[str, ...], durability: tuple[str, ...], blocks: int, seed: int
) -> Chosen:
    return _from_omb(files, Choices(systems, durability, blocks, seed)) if omb else _from_file(files)


def _from_file(files: Sequence[Path]) -> Chosen:
    if files[0].suffix in (".yaml", ".yml"):
        raise InvalidInput(
            f"{files[0]}: a campaign is a TOML file.",
            next_step=f"For a workload of OpenMessaging Benchmark, add --omb: --omb {shlex.join(map(str, files))}",
        )
    if len(files) > 1:
        raise InvalidInput(f"{files[1]}: one campaign at a time; several files are for --omb.")
    source_of = click.get_current_context().get_parameter_source
    given = [name for name in vars(DEFAULTS) if source_of(name) is ParameterSource.COMMANDLINE]
    if given:
        raise InvalidInput(
            f"--{given[0]} is for --omb: a campaign file says it itself.", next_step=f"Set it in {files[0]}."
        )
    return Chosen(load_campaign(files[0]), files[0], shown(files[0]))


def _from_omb(files: Sequence[Path], choices: Choices) -> Chosen:
    own = next((file for file in files if file.suffix == ".toml"), None)
    if own is not None:
        raise InvalidInput(f"{own}: this is a campaign of samebox's own.", next_step=f"Leave --omb out: {own}")
    file = write_campaign(files, choices, STATE / "omb")
    campaign = load_campaign(file)
    say(f"As samebox understands it: {shown(file)}")
    options = f"--systems {','.join(choices.systems)} --durability {','.join(choices.durability)}"
    named = shlex.join(shown(each) for each in files)
    typed = f"--omb {named} {options} --blocks {choices.blocks} --seed {choices.seed}"
    differences = [*campaign.differs, *(sentence for each in campaign.experiments for sentence in each.differs)]
    return Chosen(campaign, file, typed, tuple(dict.fromkeys(differences)))


def _names(option: str, known: Collection[str], default: Sequence[str], help: str) -> Callable[[Any], Any]:
    """An option that takes names of `known` with commas between them. Raises InvalidInput with the valid choices."""

    def read(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
        del context, parameter
        names = tuple(name.strip() for name in value.split(","))
        for name in names:
            if name not in known:
                raise InvalidInput(f"{option}: unknown {name!r}. Valid choices: {','.join(known)}.")
            if names.count(name) > 1:
                raise InvalidInput(f"{option}: {name} is listed twice.")
        return names

    return click.option(
        option, metavar="NAME,...", default=",".join(default), show_default=True, callback=read, help=help
    )


def _number(option: str, least: int, most: int, default: int, help: str) -> Callable[[Any], Any]:
    return click.option(option, type=click.IntRange(least, most), default=default, show_default=True, help=help)


campaign_or_omb = one_value(
    "chosen",
    _chosen,
    click.argument("files", metavar="CAMPAIGN | --omb WORKLOAD...", nargs=-1, required=True, type=PATH),
    click.option("--omb", is_flag=True, help="Run workload files of OpenMessaging Benchmark as they are."),
    _names("--systems", SYSTEMS, DEFAULTS.systems, "With --omb: the systems to compare."),
    _names("--durability", DURABILITY, DEFAULTS.durability, "With --omb: the durability levels."),
    _number("--blocks", 1, 1000, DEFAULTS.blocks, "With --omb: the number of repetitions."),
    _number("--seed", 0, LARGEST_SEED, DEFAULTS.seed, "With --omb: the random seed."),
)
