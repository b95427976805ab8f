"""Brings a detached campaign's records home: only what is missing, each trial whole or not at all. It removes nothing there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.orchestrator.place import place_on
from bench.orchestrator.state import AGENT
from bench.results.folder import Results
from contract import results_folder as layout
from provisioning.errors import HostError, InvalidInput
from provisioning.hosts.agents import ask
from provisioning.hosts.host import Host

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
    """Fetches what is noted of attempts at unfinished trials; of a campaign that has ended, since notes change as it goes on.

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
            next_step=f"Move it out of the way, and type the same command again: mv {results.root} {results.root}-earlier",
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
                host.name, f"{folder}/{name} has changed while it was fetched; a finished trial never does."
            )
