"""Kafka (KRaft) on hosts. The deployment is all that the rest of the kit sees."""

from provisioning.kafka.deployment import KafkaDeployment
from provisioning.kafka.durability import CANNOT, durability_table

__all__ = ["CANNOT", "KafkaDeployment", "durability_table"]
