"""What the systems' own load tools have printed, as it was."""

KAFKA_PRODUCED = """\
4985 records sent, 996.8 records/sec (0.97 MB/sec), 5.9 ms avg latency, 311.0 ms max latency.
12000 records sent, 999.916674 records/sec (0.98 MB/sec), 4.02 ms avg latency, 311.00 ms max latency, 3 ms 50th, 6 ms 95th, 41 ms 99th, 96 ms 99.9th.
10000 steady state records sent, 1000.200040 records/sec (0.98 MB/sec), 2.86 ms avg latency, 57.00 ms max latency, 2 ms 50th, 5 ms 95th, 9 ms 99th, 31 ms 99.9th.
"""  # noqa: E501
PULSAR_PRODUCED = """\
2026-11-21T12:07:15,516 INFO  [main] PerformanceProducer - Throughput produced:    3894 msg ---    389.4 msg/s ---      3.0 Mbit/s  --- failure      0.0 msg/s --- Latency: mean:  11.785 ms - med:   4.644 - 95pct:  50.712 - 99pct:  87.425 - 99.9pct: 115.799 - 99.99pct: 117.408 - Max: 117.408
2026-11-21T12:07:25,596 INFO  [perf-client-shutdown] PerformanceProducer - Aggregated throughput stats --- 11999 records sent --- 590.260 msg/s --- 4.611 Mbit/s
2026-11-21T12:07:25,819 INFO  [perf-client-shutdown] PerformanceProducer - Aggregated latency stats --- Latency: mean:  10.303 ms - med:   4.549 - 95pct:  39.622 - 99pct:  82.619 - 99.9pct: 126.871 - 99.99pct: 140.634 - 99.999pct: 141.676 - Max: 141.676
"""  # noqa: E501
KAFKA_CONSUMED = """\
start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec
2026-11-21 22:46:51:744, 2026-11-21 22:47:13:490, 14.6484, 0.6736, 15000, 689.7820, 883, 20863, 0.7021, 718.9762
"""  # noqa: E501
PULSAR_CONSUMED = """\
2026-11-21T22:45:13,015 INFO  [main] PerformanceConsumer - Throughput received:     683 msg --- 68.298  msg/s --- 0.534 Mbit/s  --- Latency: mean: 6793.615 ms - med: 7133 - 95pct: 8177 - 99pct: 8267 - 99.9pct: 8276 - 99.99pct: 8279 - Max: 8279
2026-11-21T22:45:23,012 INFO  [perf-client-shutdown] PerformanceConsumer - Aggregated throughput stats --- 12435 records received --- 619.517 msg/s --- 4.840 Mbit/s --- AckRate: 619.516547379198  msg/s --- ack failed 0 msg
2026-11-21T22:45:23,026 INFO  [perf-client-shutdown] PerformanceConsumer - Aggregated latency stats --- Latency: mean: 10324.274 ms - med: 9977 - 95pct: 15943 - 99pct: 16393 - 99.9pct: 16540 - 99.99pct: 16553 - 99.999pct: 16554 - Max: 16554
"""  # noqa: E501
