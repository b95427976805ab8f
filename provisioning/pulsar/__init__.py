"""Pulsar on hosts. The deployment is all that the rest of the kit sees, and what it can be asked for, as data."""

from pathlib import Path

from provisioning.pulsar.deployment import PulsarDeployment
from provisioning.pulsar.durability import CANNOT, DIFFERENCES, durability_table
from provisioning.pulsar.own_values import OWN_VALUES

PROFILES = Path(__file__).with_name("profiles")

__all__ = ["CANNOT", "DIFFERENCES", "OWN_VALUES", "PROFILES", "PulsarDeployment", "durability_table"]
