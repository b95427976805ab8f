"""Detached campaigns: a testbed host runs one itself. Uploaded, started, followed, fetched.

What is on the host is `<root>/orchestrator` (place.py); programs that run there are process.py, reach.py and state_agent.py.
"""
