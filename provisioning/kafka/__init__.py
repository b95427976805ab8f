"""Kafka (KRaft) on hosts. The deployment is all that the rest of the kit sees."""

from provisioning.kafka.deployment import KafkaDeployment

__all__ = ["KafkaDeployment"]
