"""Where Redpanda's rendered values aren't the vendor's, as data for the report.

The vendor's: those of conf/redpanda.yaml, and of the code where that is silent, at commit 1c6cff3 of its repository (25.1 to come).
Options of the process: Seastar's defaults.
"""

from __future__ import annotations

from systems.own_values import OwnValue, OwnValues

OWN_VALUES: OwnValues = {
    "broker": {
        "developer_mode": OwnValue(
            "true", "the file that is shipped is for development, and so marked; samebox refuses a broker that runs so"
        ),
        "empty_seed_starts_cluster": OwnValue(
            "true", "no broker founds a cluster alone, as the vendor recommends for production"
        ),
    },
    "cluster": {
        "enable_leader_balancer": OwnValue("true", "no partition's leader moves in a measurement"),
        "partition_autobalancing_mode": OwnValue("node_add", "no partition moves in a measurement"),
        "enable_metrics_reporter": OwnValue("true", "hosts have no internet"),
        "group_topic_partitions": OwnValue("16", "few consumers have few groups; it is made with the topics"),
        "group_initial_rebalance_delay": OwnValue("3000", "a trial's consumers come some tenths of a second apart"),
    },
    "seastar/broker": {
        "overprovisioned": OwnValue("false", "of the testbed's size: hosts of the local testbed share cores"),
        "smp": OwnValue("all", "of the testbed's size: hosts of the local testbed share cores"),
        "memory": OwnValue("all", "of the testbed's size; a part of the host is left to others, as for every system"),
        "reserve-memory": OwnValue(
            "7 % of the host's memory, at least 1.5 GiB", "what a broker may take is given; nothing is held back of it"
        ),
    },
}
