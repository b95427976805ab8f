"""Where Valkey's rendered values aren't the vendor's, as data for the report. The vendor's: the program's own defaults, 9.1.2."""

from __future__ import annotations

from systems.own_values import OwnValue, OwnValues

OWN_VALUES: OwnValues = {
    "build": {
        "mem_allocator": OwnValue(
            "jemalloc", "the pinned wheel's program is built with the C library's; memory and speed differ"
        ),
    },
    "server": {
        "protected-mode": OwnValue(
            "yes", "it refuses other hosts where there is no password; only the host's address is bound"
        ),
        "appendonly": OwnValue(
            "no", "without its file a server keeps messages in memory alone, and no level is about that"
        ),
        "appendfsync": OwnValue("everysec", "of the durability level"),
        "auto-aof-rewrite-percentage": OwnValue("100", "its file isn't rewritten in the middle of a measurement"),
        "save": OwnValue(
            "3600 1 300 100 60 10000", "no snapshots beside the file: a process of its own, in the middle of a trial"
        ),
        "repl-diskless-sync-delay": OwnValue(
            "5", "replicas are there before the first message; nothing is gained by waiting"
        ),
        "maxmemory": OwnValue("0", "of the testbed's size, or of the system profile's: hosts may share a machine"),
        "shutdown-timeout": OwnValue("10", "all servers end at once; nobody waits for replicas to catch up"),
    },
}
