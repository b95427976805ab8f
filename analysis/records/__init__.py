"""From record files to counts: kernels from Arrow table to Arrow table, and the scan in which Spark runs them on files."""
