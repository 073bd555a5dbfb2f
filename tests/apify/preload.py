"""What an Actor's process has imported before it is forked (never a reactor)."""

import scrapy.core.downloader.handlers
import scrapy.extensions.feedexport  # noqa: F401

import sitemon_spider.core.diff
import sitemon_spider.core.sitemap
import sitemon_spider.options
import sitemon_spider.pipelines.deliver
import sitemon_spider.run  # noqa: F401
