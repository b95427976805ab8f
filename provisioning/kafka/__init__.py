"""Kafka (KRaft) on hosts. The deployment is all that the rest of the kit sees, and what it can be asked for, as data."""

from pathlib import Path

from provisioning.kafka.deployment import KafkaDeployment
from provisioning.kafka.durability import CANNOT, DIFFERENCES, durability_table
from provisioning.kafka.own_values import OWN_VALUES

PROFILES = Path(__file__).with_name("profiles")

__all__ = ["CANNOT", "DIFFERENCES", "OWN_VALUES", "PROFILES", "KafkaDeployment", "durability_table"]
