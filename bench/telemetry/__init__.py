"""Host telemetry at 1 Hz: what the machines and daemons did while a trial ran.

`sampler` runs on the hosts with the standard library alone (so importing this package must load nothing); `collect` is the
operator's side.
"""
