"""Pulsar (ZooKeeper, bookies, brokers) on hosts. The deployment is all that the rest of the kit sees."""

from provisioning.pulsar.deployment import PulsarDeployment
from provisioning.pulsar.durability import CANNOT, durability_table

__all__ = ["CANNOT", "PulsarDeployment", "durability_table"]
