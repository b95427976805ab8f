"""Where Kafka's rendered values aren't the vendor's, as data for the report.

The vendor's: config/server.properties and controller.properties of Kafka 4.3.1, the brokers' own defaults, kafka-server-start.sh.
"""

from __future__ import annotations

from systems.own_values import OwnValue, OwnValues

_REPLICATED = "on three brokers it is as safe as the trial's own topics; the vendor's file is for one broker"
_JVM = {
    "MinHeapSize": OwnValue("1073741824", "of the testbed's size, or of the system profile's"),
    "InitialHeapSize": OwnValue("1073741824", "of the testbed's size, or of the system profile's"),
    "MaxHeapSize": OwnValue("1073741824", "of the testbed's size, or of the system profile's"),
    "AlwaysPreTouch": OwnValue("false", "no page fault of the heap's first use falls into the measurement"),
    "ExitOnOutOfMemoryError": OwnValue("false", "a process out of memory ends, instead of limping through a trial"),
    "UsePerfData": OwnValue("true", "its counters are a file in /tmp, which all hosts of one machine share"),
}
_MIN_INSYNC = OwnValue("1", "of the durability level; the vendor's lets acks=all be the leader alone")

OWN_VALUES: OwnValues = {
    "broker": {
        "min.insync.replicas": _MIN_INSYNC,
        "default.replication.factor": OwnValue("1", _REPLICATED),
        "offsets.topic.replication.factor": OwnValue("1", _REPLICATED),
        "transaction.state.log.replication.factor": OwnValue("1", _REPLICATED),
        "transaction.state.log.min.isr": OwnValue("1", _REPLICATED),
        "share.coordinator.state.topic.replication.factor": OwnValue("1", _REPLICATED),
        "share.coordinator.state.topic.min.isr": OwnValue("1", _REPLICATED),
        "offsets.topic.num.partitions": OwnValue("50", "few consumers have few groups; it is made with the topics"),
        "group.initial.rebalance.delay.ms": OwnValue("3000", "a trial's consumers come some tenths of a second apart"),
        "auto.create.topics.enable": OwnValue("true", "topics are made by the trial alone"),
        "auto.leader.rebalance.enable": OwnValue("true", "no partition's leader moves in a measurement"),
        "log.retention.ms": OwnValue("604800000", "nothing is deleted in a trial"),
        "controlled.shutdown.enable": OwnValue("true", "all brokers end at once: the last ones would wait for minutes"),
    },
    "controller": {"min.insync.replicas": _MIN_INSYNC},
    "jvm/broker": _JVM,
    "jvm/controller": _JVM,
}
