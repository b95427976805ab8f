"""Faults that a workload asks for, done to the brokers while it is measured, and noted."""
