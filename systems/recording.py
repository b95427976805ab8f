"""Records which settings pinned versions know, and with which defaults: what their software is asked is in their system's folder.

    python -m systems.recording SYSTEM [VERSION ...]

Without a version all of the system's.
"""

from __future__ import annotations

import argparse
import sys

from provisioning.cache import Notice, user_cache
from provisioning.errors import InvalidInput, SameboxError
from systems.known import write_known
from systems.registry import SYSTEMS, release_of, releases_of
from systems.release import Release


def record(release: Release, *, notice: Notice) -> int:
    """Asks a version's software, fetched first if need be; returns how many settings it knows. Raises SameboxError."""
    releases = SYSTEMS[release.system].releases
    if releases is None or releases.list_settings is None or release.folder is None:
        raise InvalidInput(f"{release.system}: its software can't be asked for its settings without running it.")
    software = release.software[0]
    known = releases.list_settings(software, software.fetch(user_cache(), notice=notice))
    write_known(known, release.folder)
    return sum(len(settings) for settings in known.settings.values())


def main(arguments: list[str] | None = None) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m systems.recording", description=record.__doc__)
    parser.add_argument("system")
    parser.add_argument("versions", metavar="VERSION", nargs="*")
    given = parser.parse_args(arguments)
    try:
        found = [release_of(given.system, version) for version in given.versions] or releases_of(given.system)
        for release in found:
            count = record(release, notice=lambda line: print(line, file=sys.stderr))
            print(f"{release.title}: {count} settings recorded")
    except SameboxError as error:
        print(f"{error}\n{error.next_step}".rstrip(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
