"""`samebox site`: pages that show what many bundles found, for people who would rather look."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from bench.cli.options import PATH, plain_option
from bench.cli.terminal import reporter_of, shown
from bench.progress import Step
from bench.site.reading import read_all
from bench.site.write import INDEX, require_replaceable, write_site
from contract.colours import COLOURS
from systems.registry import SYSTEMS


@click.command()
@click.argument("bundles", metavar="BUNDLE...", nargs=-1, required=True, type=PATH)
@click.option("-o", "--out", "folder", metavar="FOLDER", type=PATH, required=True, help="The folder to write.")
@plain_option
def site(bundles: tuple[Path, ...], folder: Path, plain: bool) -> None:
    """Make a site of bundles: pages to look at, filter, compare and cite.

    The folder works as it is, from this disk and from any web host; it needs no server and asks nothing of anybody. A folder that
    `samebox import-omb` wrote may stand among the bundles: its figures are shown in grey, as what they are. Bundles aren't recomputed:
    the pages have the line that does it, `samebox verify --root ...`. The same bundles give the same site; an earlier one there is
    replaced.
    """
    require_replaceable(folder)
    with reporter_of(plain, [Step("site", 1.0 + 0.01 * len(bundles))]) as reporter:
        reporter.step("site")
        found = read_all(bundles, reporter.detail)
        colours = {name: COLOURS[system.colour] for name, system in sorted(SYSTEMS.items()) if system.colour}
        made = write_site(found, folder, colours)
    click.echo(f"{made.campaigns} campaigns, {made.entries:,} entries, {made.size_bytes:,} bytes")
    click.echo(f"Look at it: xdg-open {shlex.quote(str(shown(made.folder / INDEX)))}")
