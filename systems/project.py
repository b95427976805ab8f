"""Versions that the user pins beside samebox's own, each in a folder of the checkout: to be committed with its campaigns."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from contract.durability import DEFAULT_REPLICATION_FACTOR
from provisioning.cache import Notice, locked
from provisioning.errors import InvalidInput, MissingRequirement
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import DataDir, HostRecord, SshAddress
from provisioning.software.software import Software
from provisioning.software.store import Store
from systems.deployment import Plan, Topic
from systems.known import Known, write_known
from systems.own_values import kind_of
from systems.registry import DURABILITY, SYSTEMS, release_of, releases_of
from systems.release import FACTS_FILE, FACTS_SCHEMA, Facts, Release, folders_of, like, project_folder, read_facts
from systems.settings import LAYOUT, Settings, merged

_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def pin(system: str, version: str, cache_dir: Path, *, notice: Notice) -> Release:
    """Resolves a version of a system in the way in which its others are pinned, downloads it, and records every hash.

    Then it asks it for its settings, and records which of samebox's own it doesn't know. What else is known of the version that it is
    like is taken over. Raises InvalidInput for a system that can't, and for a version that is pinned already or doesn't exist;
    MissingRequirement where it can't be had.
    """
    _require_pinnable(system, version)
    template, base = template_of(system, version), project_folder() / system
    base.mkdir(parents=True, exist_ok=True)
    try:
        with (
            locked(cache_dir / f".pinning-{system}.lock"),
            tempfile.TemporaryDirectory(prefix=".pinning-", dir=base) as aside,
        ):
            folder = Path(aside) / version
            folder.mkdir()
            _fill(folder, system, template, cache_dir, notice=notice)
            folder.rename(base / version)
    finally:
        for empty in (base, base.parent):
            with suppress(OSError):
                empty.rmdir()
    return release_of(system, version)


def template_of(system: str, version: str) -> Path:
    """The folder of the pinned version that another is like."""
    found = like(folders_of(system), version)
    assert found is not None  # the default has one
    return found


def _fill(folder: Path, system: str, template: Path, cache_dir: Path, *, notice: Notice) -> None:
    releases, version = SYSTEMS[system].releases, folder.name
    assert releases is not None
    releases.pinning.pin(version, template, folder, cache_dir, notice=notice)
    software, facts = releases.pinning.read(folder), replace(read_facts(template), taken_from=template.name)
    cached = software.fetch(cache_dir, notice=notice)
    if releases.list_settings is not None:
        notice(f"{system} {version}: asking it for its settings")
        try:
            known = releases.list_settings(software, cached)
        except MissingRequirement as error:
            notice(f"{system} {version}: {error}")
        else:
            write_known(known, folder)
            facts = with_unknown(facts, system, software, known, cache_dir)
    (folder / FACTS_FILE).write_text(written(facts, f"{system} {version}"))


def _require_pinnable(system: str, version: str) -> None:
    """Raises InvalidInput."""
    for release in releases_of(system):  # the name of the system is judged by this
        if release.version == version:
            by = f"in {release.folder}" if release.by_project else "by samebox"
            raise InvalidInput(f"{release.title} is pinned already, {by}.")
    its = SYSTEMS[system]
    if its.releases is None:
        given = not its.software and its.archive is not None
        raise InvalidInput(
            f"other versions of {system} can't be pinned: {its.one_version}",
            next_step=f"samebox software add {system} --file {its.archive_name}" if given else "",
        )
    if _VERSION.fullmatch(version) is None:
        raise InvalidInput(f"{version!r} isn't a version: letters, digits and . _ + - only.")


def with_unknown(facts: Facts, system: str, software: Software, known: Known, cache_dir: Path) -> Facts:
    """The facts of a version that it is like, and what it doesn't know besides: of samebox's files such keys are left out.

    A durability that one of them makes can't be given.
    """
    its, title = SYSTEMS[system], f"{system} {software.version}"
    store = Store(cache_dir, [*its.software, software])
    deployment = its.deployment(_hosts(), store)
    without = {kind: dict(keys) for kind, keys in facts.without.items()}
    cannot = dict(facts.cannot)
    for level in its.levels:
        rendered = deployment.intended_settings(Plan(DURABILITY[level], (Topic("topic", 1),), {}, {}))
        for kind, keys in unknown_of(known, rendered).items():
            without[kind] = dict.fromkeys(keys, f"{title} doesn't know it") | without.get(kind, {})
        for kind, keys in unknown_of(known, its.durability(DEFAULT_REPLICATION_FACTOR)[level]).items():
            cannot[level] = f"{title} doesn't know the {kind}'s {', '.join(keys)}"
    return replace(facts, without=without, cannot=cannot)


def unknown_of(known: Known, settings: Settings) -> dict[str, list[str]]:
    """Kind of component -> those of the keys that aren't known."""
    kinds = merged(*({kind_of(component): keys} for component, keys in settings.items() if component != LAYOUT))
    found = {kind: [key for key in keys if not known.knows(kind, key)] for kind, keys in kinds.items()}
    return {kind: keys for kind, keys in found.items() if keys}


def written(facts: Facts, title: str) -> str:
    """Facts as a release.toml. Strings of JSON are strings of TOML, too."""
    lines = [
        f"# What of {title} isn't as samebox otherwise takes it to be; see docs/software.md.",
        f"schema = {FACTS_SCHEMA}",
    ]
    if facts.taken_from:
        lines.append(f"taken_from = {_text(facts.taken_from)}")
    if facts.load_tool:
        lines.append(f"load_tool = {_text(facts.load_tool)}")
    if facts.requires is not None:
        lines.append(f"requires = [{', '.join(map(_text, facts.requires))}]")
    tables: dict[str, Mapping[str, str]] = {"cannot": facts.cannot}
    for name, of_kinds in (("without", facts.without), ("unknown", facts.unknown)):
        tables |= {f"{name}.{_key(kind)}": keys for kind, keys in of_kinds.items()}
    for name, values in tables.items():
        if values:
            lines += ["", f"[{name}]", *(f"{_key(key)} = {_text(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _hosts() -> list[ScriptedHost]:
    """Hosts on which nothing is run: files are only rendered for them."""
    disks = (DataDir("/data", "", "/", False),)
    ssh = SshAddress("127.0.0.1", 22, "", "")
    return [
        ScriptedHost(HostRecord(f"broker-{at}", "broker", ssh, f"127.0.0.{at}", "/", disks, "", "", 1))
        for at in (1, 2, 3)
    ]
