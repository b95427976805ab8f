"""`samebox bundle`: a campaign with its records and report as one file that a stranger can check."""

from __future__ import annotations

from pathlib import Path

import click

from bench.bundle.write import make_bundle
from bench.cli.options import PATH, plain_option, results_argument
from bench.cli.terminal import reporter_of, say, shown
from bench.progress import Step
from bench.results.folder import Results


@click.command()
@results_argument
@click.option("-o", "--out", "target", metavar="FILE.samebox", type=PATH, required=True, help="The file to write.")
@click.option(
    "--without-records", is_flag=True, help="Leave out the rows of messages; nobody can recompute the figures then."
)
@click.option(
    "--sign", "key", metavar="KEY", type=PATH, help="Sign the root with this SSH key, such as ~/.ssh/id_ed25519."
)
@plain_option
def bundle(results_dir: Path, target: Path, without_records: bool, key: Path | None, plain: bool) -> None:
    """Put a campaign's records, report and lock files into one file.

    Prints the root: 64 digits that stand for every byte. Publish it beside the file, or sign it, and `samebox verify` tells whether a
    copy is what was published. The same results give the same file. It is a zip file without compression.
    """
    results = Results(results_dir)
    with reporter_of(plain, [Step("bundle", 5.0)]) as reporter:
        reporter.step("bundle")
        made = make_bundle(results, target, with_records=not without_records, key=key, on_file=reporter.detail)
    for sentence in made.left_out:
        say(f"left out  {sentence}")
    click.echo(f"{shown(made.path)}: {made.files:,} files, {made.size_bytes:,} bytes")
    click.echo(f"root: {made.root}")
    signers = " --allowed-signers FILE" if key is not None else ""
    click.echo(f"Check it: samebox verify --root {made.root}{signers} {shown(made.path)}")
