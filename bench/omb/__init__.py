"""Workload files of OpenMessaging Benchmark, taken as they are: read, honoured or refused by name, written down as a campaign."""
