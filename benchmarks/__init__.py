"""Benchmarks: speed, quality and memory, each beside a yardstick measured in the same run."""
