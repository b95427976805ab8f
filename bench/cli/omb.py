"""What a command runs: a campaign file, or workload files of OpenMessaging Benchmark (--omb) made into one."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from bench.campaign.campaign import LARGEST_SEED, Campaign, load_campaign
from bench.checkout import STATE
from bench.cli.options import console, shown
from bench.omb.campaign import Choices, write_campaign
from provisioning.errors import InvalidInput
from systems.registry import DURABILITY, SYSTEMS

F = TypeVar("F", bound=Callable[..., Any])
DEFAULTS = Choices(systems=tuple(SYSTEMS), durability=("1",), blocks=1, seed=1)


@dataclass(frozen=True)
class Chosen:
    """A campaign, its file, and the words that name it on the command line. `differences`: from what workload files ask."""

    campaign: Campaign
    file: Path
    typed: str
    differences: tuple[str, ...] = ()

    def announce(self) -> None:
        """Says the differences."""
        for sentence in self.differences:
            console.print(f"- {sentence}", markup=False, soft_wrap=True)


def campaign_or_omb(command: F) -> F:
    """CAMPAIGN, or --omb WORKLOAD... with what such files don't say; the command gets `chosen`."""

    @functools.wraps(command)
    def with_chosen(
        files: tuple[Path, ...],
        omb: bool,
        systems: tuple[str, ...] | None,
        durability: tuple[str, ...] | None,
        blocks: int | None,
        seed: int | None,
        **rest: Any,
    ) -> Any:
        given = {"systems": systems, "durability": durability, "blocks": blocks, "seed": seed}
        given = {name: value for name, value in given.items() if value is not None}
        return command(chosen=_from_omb(files, given) if omb else _from_file(files, given), **rest)

    options = (
        click.argument(
            "files", metavar="CAMPAIGN | --omb WORKLOAD...", nargs=-1, required=True, type=click.Path(path_type=Path)
        ),
        click.option(
            "--omb", is_flag=True, help="The files are workloads of OpenMessaging Benchmark, taken as they are."
        ),
        click.option(
            "--systems",
            metavar="NAME,...",
            callback=_one_of(SYSTEMS),
            help=f"With --omb: the systems to compare.  [default: {_listed(DEFAULTS.systems)}]",
        ),
        click.option(
            "--durability",
            metavar="LEVEL,...",
            callback=_one_of(DURABILITY),
            help=f"With --omb: what an acknowledgement promises.  [default: {_listed(DEFAULTS.durability)}]",
        ),
        click.option(
            "--blocks",
            type=click.IntRange(1, 1000),
            help=f"With --omb: how often everything runs.  [default: {DEFAULTS.blocks}]",
        ),
        click.option(
            "--seed",
            type=click.IntRange(0, LARGEST_SEED),
            help=f"With --omb: of the payloads.  [default: {DEFAULTS.seed}]",
        ),
    )
    return functools.reduce(lambda decorated, option: option(decorated), reversed(options), with_chosen)  # type: ignore[return-value]


def _from_file(files: Sequence[Path], given: dict[str, Any]) -> Chosen:
    if files[0].suffix in (".yaml", ".yml"):
        raise InvalidInput(
            f"{files[0]}: a campaign is a TOML file.",
            next_step=f"Is it a workload of OpenMessaging Benchmark? Add --omb: --omb {shlex.join(map(str, files))}",
        )
    if len(files) > 1:
        raise InvalidInput(f"{files[1]}: one campaign at a time; several files are for --omb.")
    if given:
        raise InvalidInput(
            f"--{next(iter(given))} is for --omb: a campaign file says it itself.", next_step=f"Write it in {files[0]}."
        )
    return Chosen(load_campaign(files[0]), files[0], shown(files[0]))


def _from_omb(files: Sequence[Path], given: dict[str, Any]) -> Chosen:
    own = next((file for file in files if file.suffix == ".toml"), None)
    if own is not None:
        raise InvalidInput(f"{own}: this is a campaign of samebox's own.", next_step=f"Leave --omb away: {own}")
    choices = Choices(**{**vars(DEFAULTS), **given})
    file = write_campaign(files, choices, STATE / "omb")
    campaign = load_campaign(file)
    console.print(f"As samebox understands it: {shown(file)}", markup=False, soft_wrap=True)
    options = f"--systems {_listed(choices.systems)} --durability {_listed(choices.durability)}"
    typed = (
        f"--omb {shlex.join(shown(each) for each in files)} {options} --blocks {choices.blocks} --seed {choices.seed}"
    )
    differences = [*campaign.differs, *(sentence for each in campaign.experiments for sentence in each.differs)]
    return Chosen(campaign, file, typed, tuple(dict.fromkeys(differences)))


def _one_of(known: Any) -> Callable[[click.Context, click.Parameter, str | None], tuple[str, ...] | None]:
    """Reads names with commas between them. Raises InvalidInput with the valid choices."""

    def read(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
        del context
        if value is None:
            return None
        names = tuple(name.strip() for name in value.split(","))
        for name in names:
            if name not in known:
                raise InvalidInput(f"--{parameter.name}: unknown {name!r}. Valid choices: {_listed(known)}.")
            if names.count(name) > 1:
                raise InvalidInput(f"--{parameter.name}: {name} is listed twice.")
        return names

    return read


def _listed(names: Any) -> str:
    return ",".join(names)
