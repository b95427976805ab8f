"""Redpanda, from the operator's own archive."""
