"""Apify entry: `python -m sitemon_spider` runs the Actor and ends with its exit code."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("SCRAPY_SETTINGS_MODULE", "sitemon_spider.settings")
    # Imported only now: with the settings named, and the reactor still to be chosen.
    from apify import Actor
    from apify.scrapy import initialize_logging, run_scrapy_actor

    from sitemon_spider.apify.actor import main

    initialize_logging()
    try:
        run_scrapy_actor(main())
    except SystemExit as end:
        # Under Scrapy the SDK does not end the process itself, so its exit code would be lost.
        sys.exit(end.code or Actor.exit_code)
