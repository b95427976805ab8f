"""Where NATS' rendered values aren't the vendor's, as data for the report.

The vendor's: those of a server of version 2.15.1 that is told nothing but its addresses and its directory.
"""

from __future__ import annotations

from systems.own_values import OwnValue, OwnValues

OWN_VALUES: OwnValues = {
    "server": {
        "jetstream.sync_interval": OwnValue(
            "2m", "of the durability level; the vendor's leaves what was acknowledged unsynced"
        ),
        "cluster.no_advertise": OwnValue("false", "clients are given every server's address, and know no others"),
    },
    "go/server": {
        "GOMEMLIMIT": OwnValue(
            "off", "of the testbed's size; the vendor advises to set it where a host has little memory"
        ),
    },
}
