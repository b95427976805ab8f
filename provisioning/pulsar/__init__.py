"""Pulsar (ZooKeeper, bookies, brokers) on hosts. The deployment is all that the rest of the kit sees."""

from provisioning.pulsar.deployment import PulsarDeployment

__all__ = ["PulsarDeployment"]
