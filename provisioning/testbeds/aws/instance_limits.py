"""What AWS says of instance types (instance_limits.toml) by which measurements on them are judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from provisioning.document import parse_document

LIMITS_FILE = Path(__file__).with_name("instance_limits.toml")
LIMITS_SCHEMA = 1

Gbit = Annotated[float, Field(gt=0)]


@dataclass(frozen=True)
class Limits:
    """One instance type's network, in 10^9 bits a second each way, and what else is peculiar to it.

    `burstable`: it has its processors for a share of the time, and more by credits. `ptp`: it has a PTP hardware clock.
    `architecture`: of its processors, as AWS names it.
    """

    baseline_gbit_per_s: Gbit
    peak_gbit_per_s: Gbit
    burstable: bool = False
    ptp: bool = False
    architecture: Literal["x86_64", "arm64"] = "x86_64"

    @property
    def network(self) -> str:
        """The bandwidth as people read it."""
        if self.peak_gbit_per_s > self.baseline_gbit_per_s:
            return (
                f"up to {self.peak_gbit_per_s:g} Gbit/s, of which {self.baseline_gbit_per_s:g} are there at all times"
            )
        return f"{self.peak_gbit_per_s:g} Gbit/s at all times"


@dataclass(frozen=True)
class _LimitsFile:
    """The file's keys."""

    schema: int
    source: str
    looked_up: date
    types: Mapping[str, Limits]


@cache
def load_limits(path: Path = LIMITS_FILE) -> Mapping[str, Limits]:
    """Instance type -> what is known of it. Raises InvalidInput naming file and key."""
    return parse_document(_LimitsFile, path, schema=LIMITS_SCHEMA).types
