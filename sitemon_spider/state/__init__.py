"""Where snapshots live: the port and its adapters."""
