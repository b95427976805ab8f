"""Runs on hosts, with the standard library alone (Python 3.9 and later): does one fault at an instant, and undoes it."""
