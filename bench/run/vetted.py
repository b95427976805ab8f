"""The last vetting of a testbed, kept so that a campaign can start without probing again; valid only for the hosts it probed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.results.folder import write_json
from provisioning.document import build, parse_document
from provisioning.errors import InvalidInput
from provisioning.hosts.inventory import Inventory
from provisioning.vetting import Thresholds, Vetting, load_thresholds

VETTED_SCHEMA = 2


@dataclass(frozen=True)
class Vetted:
    """`documents` (host -> its samples and verdicts) go to results/<campaign>/vetting, `summary` into the manifest."""

    schema: int
    instance_ids: Mapping[str, str]
    rejected: tuple[str, ...]
    caveats: tuple[str, ...]
    summary: Mapping[str, Any]
    documents: Mapping[str, Mapping[str, Any]]

    def covers(self, inventory: Inventory) -> bool:
        """Whether it is of exactly these instances."""
        return dict(self.instance_ids) == {host.name: host.instance_id for host in inventory.hosts}

    def thresholds(self) -> Thresholds:
        """Those that it was judged by, else the kit's own. Raises InvalidInput if they are of another version."""
        used = self.summary.get("thresholds")
        return load_thresholds() if used is None else build(Thresholds, dict(used), where="the kept vetting")

    def save(self, path: Path) -> None:
        """Keeps it for `load_vetted`."""
        write_json(path, asdict(self))


def vetted(vetting: Vetting) -> Vetted:
    """What a campaign needs to know of a vetting."""
    return Vetted(
        VETTED_SCHEMA,
        {host.name: host.instance_id for host in vetting.probes.hosts},
        vetting.rejected,
        vetting.caveats,
        vetting.summary(),
        vetting.documents(),
    )


def load_vetted(path: Path) -> Vetted:
    """Reads a kept vetting. Raises InvalidInput if it is of another version or damaged."""
    try:
        return parse_document(Vetted, path, schema=VETTED_SCHEMA)
    except InvalidInput as error:
        raise InvalidInput(str(error), next_step=f"Delete {path} and run `samebox vet`.") from None
