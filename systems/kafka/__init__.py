"""Kafka (KRaft)."""
