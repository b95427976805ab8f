"""Other versions of what a `requirements.lock` pins: the same programs out of another version's wheels, recorded anew."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from provisioning.cache import Notice
from provisioning.errors import MissingRequirement
from systems.software.pinning import no_such_version
from systems.software.wheel import WheelPrograms, record, wheel_programs

_THERE = re.compile(r"\(from versions: ([^)]*)\)")


@dataclass(frozen=True)
class WheelPinning:
    """See Pinning. `package`: the wheels' own name at the package index."""

    name: str
    package: str
    programs: tuple[str, ...]

    def read(self, folder: Path) -> WheelPrograms:
        return wheel_programs(self.name, folder, *self.programs)

    def pin(self, version: str, like: Path, folder: Path, cache_dir: Path, *, notice: Notice) -> None:
        del like, cache_dir
        try:
            record(folder, f"{self.package}=={version}", self.programs, notice=notice)
        except MissingRequirement as error:
            there = versions_in(str(error))
            if there and version not in there:
                raise no_such_version(self.name, version, there, "the package index") from None
            raise


def versions_in(printed: str) -> list[str]:
    """The versions that pip says there are, where it finds none that fits."""
    found = _THERE.search(printed)
    return [each for each in (found[1].split(", ") if found else []) if each != "none"]
