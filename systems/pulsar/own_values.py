"""Where Pulsar's rendered values aren't the vendor's, as data for the report.

The vendor's: conf/broker.conf, bookkeeper.conf and zookeeper.conf of Pulsar 4.2.4, for what these leave empty the defaults of the
code, and bin/pulsar with its conf/pulsar_env.sh and bkenv.sh.
"""

from __future__ import annotations

from systems.own_values import OwnValue, OwnValues

_SIZE = "of the testbed's size, or of the system profile's"
_STILL = "nothing moves in a measurement"
_RECOVERY = "for restoring lost copies, which is off"
_PROMISE = "as the durability level's policy of the namespace, which goes before it"
_NO_TLS = "for certificates, of which there are none"
_JVM = {
    "MinHeapSize": OwnValue("2147483648", _SIZE),
    "InitialHeapSize": OwnValue("2147483648", _SIZE),
    "MaxHeapSize": OwnValue("2147483648", _SIZE),
    "UseZGC": OwnValue("true", "G1 (ZooKeeper: the serial one): ZGC is made for heaps larger than a small host's"),
    "UsePerfData": OwnValue("true", "its counters are memory in vain; the vendor keeps them out of /tmp alone"),
    "PerfDisableSharedMem": OwnValue("true", "there are no counters to share"),
}
_G1 = {
    "UseG1GC": OwnValue("false", "instead of ZGC"),
    "MaxGCPauseMillis": OwnValue("200", "of G1: the vendor's value of the versions that had G1"),
    "ParallelRefProcEnabled": OwnValue("false", "of G1: the vendor's value of the versions that had G1"),
    "MaxDirectMemorySize": OwnValue("4294967296", _SIZE),
}

OWN_VALUES: OwnValues = {
    "broker": {
        "managedLedgerDefaultEnsembleSize": OwnValue("2", _PROMISE),
        "managedLedgerDefaultWriteQuorum": OwnValue("2", _PROMISE),
        "managedLedgerDefaultAckQuorum": OwnValue("2", _PROMISE),
        "defaultNumberOfNamespaceBundles": OwnValue("4", "as the trial's own namespace has"),
        "systemTopicEnabled": OwnValue("true", "no topics beside the trial's own"),
        "topicLevelPoliciesEnabled": OwnValue("true", "they would need system topics"),
        "loadBalancerSheddingEnabled": OwnValue("true", _STILL),
        "loadBalancerAutoBundleSplitEnabled": OwnValue("true", _STILL),
        "loadBalancerAutoUnloadSplitBundlesEnabled": OwnValue("true", _STILL),
        "allowAutoTopicCreation": OwnValue("true", "topics are made by the trial alone"),
        "brokerDeleteInactiveTopicsEnabled": OwnValue("true", "topics stay until the wipe"),
        "brokerShutdownTimeoutMs": OwnValue("60000", "after a trial nothing is worth waiting for"),
    },
    "namespace": {
        "numBundles": OwnValue("16", "three brokers get as many each"),
        "bookkeeperEnsemble": OwnValue("2", "of the durability level"),
        "bookkeeperWriteQuorum": OwnValue("2", "of the durability level"),
        "bookkeeperAckQuorum": OwnValue("2", "of the durability level"),
    },
    "bookie": {
        "journalMaxSizeMB": OwnValue("2048", "five old files are kept, for which small disks have no room"),
        "journalWriteData": OwnValue("true", "of the durability level"),
        "journalSyncData": OwnValue("true", "of the durability level"),
        "diskUsageThreshold": OwnValue("0.95", "a rule of the trial's ends it before a bookie turns read-only"),
        "diskUsageWarnThreshold": OwnValue("0.9", "a rule of the trial's ends it before a bookie turns read-only"),
        "httpServerEnabled": OwnValue("false", "settings are read back over it"),
        "statsProviderClass": OwnValue(
            "org.apache.pulsar.metrics.prometheus.bookkeeper.PrometheusMetricsProvider",
            "BookKeeper's own, which serves its figures over the HTTP server above",
        ),
        "autoRecoveryDaemonEnabled": OwnValue("true", "copies restored in a trial would be load of their own"),
        "useV2WireProtocol": OwnValue("true", _RECOVERY),
        "stickyReadSEnabled": OwnValue("true", _RECOVERY),
        "reorderReadSequenceEnabled": OwnValue("true", _RECOVERY),
        "reppDnsResolverClass": OwnValue("org.apache.pulsar.zookeeper.ZkBookieRackAffinityMapping", _RECOVERY),
    },
    "zookeeper": {
        "admin.enableServer": OwnValue("true", "it would bind every address"),
        "autopurge.purgeInterval": OwnValue("1", "old snapshots go with the wipe after the trial"),
        "4lw.commands.whitelist": OwnValue("*", "the commands that readiness and read-back need"),
        "metricsProvider.className": OwnValue(
            "org.apache.pulsar.metrics.prometheus.zookeeper.PrometheusMetricsProvider",
            "its port is the bookie's, which may be on the same host",
        ),
        "metricsProvider.exportJvmInfo": OwnValue("true", "of the metrics' server"),
        "sslQuorumReloadCertFiles": OwnValue("true", _NO_TLS),
        "client.certReload": OwnValue("true", _NO_TLS),
    },
    "jvm/broker": _JVM | _G1,
    "jvm/bookie": _JVM | _G1,
    "jvm/zookeeper": _JVM
    | {
        "UseSerialGC": OwnValue("false", "instead of ZGC"),
        "MaxDirectMemorySize": OwnValue("4294967296", "not bounded: as much as the heap"),
    },
}
