"""Valkey as a system of samebox: streams on one primary with replicas."""
