"""The project's settings for an Actor that reads sites on this machine."""

import os

from sitemon_spider.settings import *  # noqa: F403

SITEMON_ALLOW_PRIVATE = True
SITEMON_FIRST_BACKOFF = 0.01
if "SITEMON_TEST_FEED" in os.environ:
    FEEDS = {os.environ["SITEMON_TEST_FEED"]: {"format": "jsonlines"}}
