"""A campaign run by a testbed host itself: brought there, started, watched, fetched from. It measures nothing and vets nothing.

What lies on the host is `<root>/orchestrator` (place.py); programs that run there are process.py, reach.py and state_agent.py.
"""
