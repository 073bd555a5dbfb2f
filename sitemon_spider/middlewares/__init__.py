"""What every request and every file passes: gate, robots, conditions, retries, admission."""
