"""Pulsar, with BookKeeper and ZooKeeper."""
