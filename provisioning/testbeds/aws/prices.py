"""The pinned price table (prices.toml) and how a price is looked up in it.

A price that isn't in the table is an InvalidInput that says what to add where: a guess would be believed.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from provisioning.document import parse_document
from provisioning.errors import InvalidInput
from provisioning.hosts.inventory import Inventory

PRICES_FILE = Path(__file__).with_name("prices.toml")
PRICES_SCHEMA = 1
Kind = Literal["instance_hour", "surplus_hour", "emr_hour", "service"]
WHAT: Mapping[Kind, str] = {
    "instance_hour": "instance type",
    "surplus_hour": "the surplus CPU credits of instance type",
    "emr_hour": "the EMR surcharge of instance type",
    "service": "service",
}


@dataclass(frozen=True)
class PriceGroup:
    """Prices of one source, noted on one day, that hold in all of `regions`."""

    regions: tuple[str, ...]
    pinned: date
    source: str
    prices: Mapping[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]]


@dataclass(frozen=True)
class PriceTable:
    """US dollars: per instance and hour, EMR's surcharge on it, and per unit of a service."""

    file: Path
    groups: Mapping[Kind, tuple[PriceGroup, ...]]

    def price(self, kind: Kind, name: str, region: str) -> float:
        """One price. Raises InvalidInput saying what to add where."""
        here = [group for group in self.groups[kind] if region in group.regions]
        for group in here:
            if name in group.prices:
                return group.prices[name]
        if not here:
            known = ", ".join(self.regions) or "none"
            raise InvalidInput(
                f"{self.file}: no prices for region {region!r}. Regions with prices: {known}.",
                next_step=f'Look up the region\'s prices and add a [[{kind}]] group with regions = ["{region}"] to that file.',
            )
        names = sorted({each for group in here for each in group.prices})
        near = difflib.get_close_matches(name, names, n=3) or names
        raise InvalidInput(
            f"{self.file}: no price for {WHAT[kind]} {name!r} in {region}. There are: {', '.join(near)}.",
            next_step=f'Look it up at {here[0].source} and add "{name}" = PRICE under [{kind}.prices] for {region} in that file.',
        )

    def surplus(self, instance_type: str, region: str) -> float:
        """What an instance may cost more in an hour, for CPU time beyond what it was bought with; 0 for all but burstable types."""
        here = (group for group in self.groups["surplus_hour"] if region in group.regions)
        return next((group.prices[instance_type] for group in here if instance_type in group.prices), 0.0)

    @property
    def regions(self) -> tuple[str, ...]:
        """Every region with a price of an instance, in the file's order."""
        return tuple(dict.fromkeys(region for group in self.groups["instance_hour"] for region in group.regions))

    @property
    def pinned(self) -> date:
        """The oldest date in the table: every price is at least as recent."""
        return min(group.pinned for groups in self.groups.values() for group in groups)

    @property
    def sources(self) -> tuple[str, ...]:
        """Where the prices stand, in the file's order."""
        return tuple(dict.fromkeys(group.source for groups in self.groups.values() for group in groups))


@dataclass(frozen=True)
class _PriceFile:
    """The file's keys."""

    schema: int
    instance_hour: Annotated[tuple[PriceGroup, ...], Field(min_length=1)]
    emr_hour: Annotated[tuple[PriceGroup, ...], Field(min_length=1)]
    service: Annotated[tuple[PriceGroup, ...], Field(min_length=1)]
    surplus_hour: tuple[PriceGroup, ...] = ()


def load_prices(path: Path = PRICES_FILE) -> PriceTable:
    """Reads a price table. Raises InvalidInput naming file and key."""
    groups = vars(parse_document(_PriceFile, path, schema=PRICES_SCHEMA))
    return PriceTable(path, {kind: groups[kind] for kind in WHAT})


def host_prices(inventory: Inventory, prices: PriceTable) -> dict[str, Any] | None:
    """What each host costs an hour in US dollars, with its public address and without its root volume, and the day of the prices.

    None where nobody charges for the hosts, or the table lacks one of their types.
    """
    bucket = inventory.records_bucket
    if bucket is None:
        return None
    try:
        address = prices.price("service", "public_ipv4_hour", bucket.region)
        hosts = {
            host.name: prices.price("instance_hour", host.instance_type, bucket.region) + address
            for host in inventory.hosts
        }
    except InvalidInput:
        return None
    return {"currency": "USD", "pinned": prices.pinned.isoformat(), "hosts": hosts}
