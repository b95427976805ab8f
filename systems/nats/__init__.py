"""NATS, with JetStream."""
