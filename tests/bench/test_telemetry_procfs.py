"""The parsers of telemetry, on text as real kernels print it."""

from __future__ import annotations

from bench.telemetry import procfs
from bench.telemetry.allowances import DriverCounters, allowance_metrics

STAT = """cpu  23693 100 11220 432002 1174 50 70 65 0 0
cpu0 11800 50 5600 216000 600 20 30 30 0 0
cpu1 11893 50 5620 216002 574 30 40 35 0 0
intr 123456 0 9
ctxt 987654
btime 1795240000
processes 4242
procs_running 4
procs_blocked 1
softirq 1 2 3
"""
MEMINFO = """MemTotal:       24689432 kB
MemFree:        22000000 kB
MemAvailable:   24180636 kB
Buffers:           10240 kB
Cached:           187512 kB
SwapCached:            7 kB
Dirty:              2472 kB
Writeback:            16 kB
WritebackTmp:         99 kB
HugePages_Total:       0
"""
DISKSTATS = """   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 259       0 nvme1n1 1000 5 80000 300 2000 7 160000 900 0 1500 1200 0 0 0 0 0 0
 259       1 nvme1n1p1 900 5 72000 280 1900 7 152000 850 0 1400 1130 0 0 0 0 0 0
 259       2 nvme2n1 1 0 8 1 2 0 16 1 0 250 2 0 0 0 0 0 0
"""
NET_DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    3193      29    0    0    0     0          0         0     3193      29    0    0    0     0       0          0
  eth0:9179024232  197863    0    0    0     0          0         0  9766442  112515    0    0    0     0       0          0
 bond0: 9179024232  197863    0    0    0     0          0         0  9766442  112515    0    0    0     0       0          0
"""


def test_cpu_time_is_in_seconds_over_all_cpus() -> None:
    """Nice belongs to user, interrupts to system; the reader isn't part of the queue."""
    assert procfs.TICKS_PER_S == 100
    assert procfs.cpu(STAT) == {
        "cpu_user_s": 237.93,
        "cpu_system_s": 113.4,
        "cpu_iowait_s": 11.74,
        "cpu_steal_s": 0.65,
        "cpu_idle_s": 4320.02,
        "run_queue": 3,
        "cpus": 2,
    }


def test_pressure_is_the_total_in_seconds() -> None:
    """`some` for all three resources, `full` for io alone; a kernel without it gives nothing rather than zero."""
    text = (
        "some avg10=2.73 avg60=1.25 avg300=1.07 total=13621513\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=250000\n"
    )
    assert procfs.pressure("cpu", text) == {"psi_cpu_some_s": 13.621513}
    assert procfs.pressure("io", text) == {"psi_io_some_s": 13.621513, "psi_io_full_s": 0.25}
    assert procfs.pressure("memory", text) == {"psi_memory_some_s": 13.621513}
    assert procfs.pressure("cpu", "") == {}


def test_memory_is_in_bytes() -> None:
    """SwapCached and WritebackTmp aren't taken for Cached and Writeback."""
    assert procfs.memory(MEMINFO) == {
        "available_bytes": 24180636 * 1024,
        "cached_bytes": 187512 * 1024,
        "dirty_bytes": 2472 * 1024,
        "writeback_bytes": 16 * 1024,
    }


def test_disks_are_summed_over_the_data_disks_alone() -> None:
    """A partition is its own line, a disk not asked for doesn't count, and no known disk gives no metric."""
    assert procfs.disks(DISKSTATS, {(259, 1), (259, 2)}) == {
        "disk_read_bytes": 72008 * 512,
        "disk_written_bytes": 152016 * 512,
        "disk_reads": 901,
        "disk_writes": 1902,
        "disk_busy_s": 1.65,
    }
    assert procfs.disks(DISKSTATS, {(0, 42)}) == {}


def test_network_is_summed_with_loopback_without_stacked_interfaces() -> None:
    """A bond repeats the bytes of the card below it."""
    assert procfs.network(NET_DEV, ["bond0"]) == {
        "net_received_bytes": 9179024232 + 3193,
        "net_sent_bytes": 9766442 + 3193,
    }


def test_a_process_name_may_hold_anything() -> None:
    """Fields are found behind the last bracket of the name."""
    stat = "4711 (odd ) name (x)) S 1 4711 4711 0 -1 4194304 9 0 0 0 250 50 3 4 20 0 87 0 123456 999999999 1000 18446744073709551615 1"
    counters = procfs.process(stat)
    assert counters == procfs.ProcessCounters(123456, 3.0, 2.5, 87, 1000 * procfs.PAGE_BYTES)


def test_exceeded_allowances_are_summed_over_cards() -> None:
    """What is left of an allowance is no counter, and other driver counters aren't kept."""
    first = {"bw_in_allowance_exceeded": 3, "conntrack_allowance_available": 9, "tx_timeout": 1}
    second = {"bw_in_allowance_exceeded": 4, "pps_allowance_exceeded": 1}
    assert allowance_metrics([first, second]) == {
        "ena_bw_in_allowance_exceeded": 7,
        "ena_pps_allowance_exceeded": 1,
    }


def test_an_interface_without_driver_counters_has_none() -> None:
    """Loopback has no such counters: the question is answered, not failed."""
    assert DriverCounters("lo").names == []
