"""What faults did to the users of a system, from every message: gaps, recovery, debt, losses (docs/faults.md)."""
