"""Where rows go: the port and its adapters."""
