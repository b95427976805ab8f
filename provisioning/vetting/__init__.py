"""Vetting of hosts: probes on every data disk, client and network path, verdicts by rule, replacement of rejected hosts.

>>> vetting = vet(hosts, load_thresholds(), progress=show)
>>> vetting.rejected, vetting.rows(), vetting.documents()
"""

from provisioning.vetting.again import probe_again
from provisioning.vetting.rehearsed import rehearsed
from provisioning.vetting.thresholds import Thresholds, load_thresholds
from provisioning.vetting.verdicts import Verdict, Vetting
from provisioning.vetting.vetting import vet, vet_and_replace

__all__ = [
    "Thresholds",
    "Verdict",
    "Vetting",
    "load_thresholds",
    "probe_again",
    "rehearsed",
    "vet",
    "vet_and_replace",
]
