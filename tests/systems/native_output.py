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
NATS_PRODUCED_BY_ONE = """\
03:16:49 Starting JetStream synchronous publisher benchmark [batch=0, clients=1, msg-size=1.0 KiB, msgs=300, multi-subject=false, multi-subject-max=100,000, multi-subject-randomize=false, purge=false, sleep=0s, stream=t-0, subject=t.0, throughput=100]
03:16:49 Using stream: t-0
03:16:49 [1] Starting JetStream synchronous publisher, publishing 300 messages

NATS JetStream synchronous publisher stats: 99 msgs/sec ~ 100 KiB/sec ~ min: 274.14us ~ avg: 2,042.79us ~ max: 49,490.89us ~ P50: 1,046.84us ~ P90: 2,141.73us ~ P99: 25,916.53us ~ P99.9: 49,490.89us
"""  # noqa: E501
NATS_PRODUCED_BY_SEVERAL = """\
03:16:52 Starting JetStream synchronous publisher benchmark [batch=0, clients=3, msg-size=1.0 KiB, msgs=2,000, multi-subject=false, multi-subject-max=100,000, multi-subject-randomize=false, purge=false, sleep=0s, stream=t-0, subject=t.0, throughput=500]
03:16:52 Using stream: t-0
03:16:52 [1] Starting JetStream synchronous publisher, publishing 667 messages
03:16:52 [2] Starting JetStream synchronous publisher, publishing 667 messages
03:16:52 [3] Starting JetStream synchronous publisher, publishing 666 messages

  [1] 166 msgs/sec ~ 167 KiB/sec ~ min: 187.30us ~ avg: 935.65us ~ max: 6,953.48us ~ P50: 836.34us ~ P90: 1,471.31us ~ P99: 3,022.34us ~ P99.9: 6,953.48us (666 msgs)
  [2] 166 msgs/sec ~ 167 KiB/sec ~ min: 221.32us ~ avg: 1,020.93us ~ max: 7,037.95us ~ P50: 909.49us ~ P90: 1,635.72us ~ P99: 3,167.77us ~ P99.9: 7,037.95us (667 msgs)
  [3] 166 msgs/sec ~ 167 KiB/sec ~ min: 167.89us ~ avg: 989.60us ~ max: 6,904.79us ~ P50: 893.14us ~ P90: 1,573.62us ~ P99: 3,052.82us ~ P99.9: 6,904.79us (667 msgs)

 NATS JetStream synchronous publisher aggregated stats: 499 msgs/sec ~ 500 KiB/sec
 message rates min 166 | avg 166 | max 166 | stddev 0 msgs
 latencies per operation min 167.89us | avg 982.08us | max 7,037.95us | stddev 1,145.73us | P50 881.82us | P90 1,559.63us | P99 3,029.75us | P99.9: 6,953.48us
"""  # noqa: E501
NATS_CONSUMED = """\
03:16:52 Starting JetStream ordered ephemeral consumer benchmark [clients=1, msg-size=128 B, msgs=2,300, purge=false, sleep=0s, stream=t-0]
03:16:52 [1] Starting JetStream ordered ephemeral consumer, expecting 2,300 messages

NATS JetStream ordered ephemeral consumer stats: 575 msgs/sec ~ 72 KiB/sec
"""  # noqa: E501
RABBITMQ_PRODUCED = """\
id: messages-12000, time 6.000 s, sent: 1968 msg/s, returned: 0 msg/s, confirmed: 1970 msg/s, nacked: 0 msg/s, min/median/75th/95th/99th confirm latency: 242/560/773/5100/29288 ?s
test stopped (Producer reached message limit [6])
id: messages-12000, sending rate avg: 1964 msg/s
id: messages-12000, receiving rate avg: 0 msg/s
id: messages-12000, confirm latency min/median/75th/95th/99th 283/4434/40875/185027/426789 ?s
"""  # noqa: E501
RABBITMQ_CONSUMED = """\
test stopped (Consumer reached message limit [6])
id: messages-12000, sending rate avg: 0 msg/s
id: messages-12000, receiving rate avg: 25335 msg/s
id: messages-12000, consumer latency min/median/75th/95th/99th 33519669885/33519797979/33519869638/33519972919/33519975722 ?s
"""
