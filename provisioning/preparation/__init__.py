"""Preparation of hosts over SSH, the same for every inventory: packages, data disks, kernel settings, clock; all of it read back.

What is wanted is data (packages.py, settings.py), applying it is idempotent, and a host that doesn't hold what was set is an
error. A host that is the operator's own machine is looked at and never changed.
"""
