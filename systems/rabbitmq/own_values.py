"""Where RabbitMQ's rendered values aren't the vendor's, as data for the report. The vendor's: what a node has that is told nothing."""

from __future__ import annotations

from systems.own_values import OwnValue, OwnValues

OWN_VALUES: OwnValues = {
    "server": {
        "loopback_users": OwnValue("guest", "clients have hosts of their own; only the host's address is bound"),
        "vm_memory_high_watermark.absolute": OwnValue(
            "0.6 of the host's memory", "of the testbed's size, or of the system profile's: hosts may share a machine"
        ),
    },
    "ra": {
        "wal_sync_method": OwnValue("datasync", "of the durability level; `none` is not documented by the vendor"),
    },
}
