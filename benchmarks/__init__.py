"""Benchmarks: `make bench` measures sitemon, `make bench-peers` measures it beside its peers."""
