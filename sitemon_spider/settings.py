"""The composition: which component at which priority, and how polite, with the reason beside it."""

from sitemon_spider.items import ROW_FIELDS

BOT_NAME = "sitemon"
SPIDER_MODULES = ["sitemon_spider.spiders"]
COMMANDS_MODULE = "sitemon_spider.commands"
ADDONS: dict[str, int] = {}

# --- sitemon's own settings --------------------------------------------------------------------
SITEMON_STATE = ".sitemon"  # the folder of snapshots and of the runs' records
SITEMON_ALLOW_PRIVATE = False  # contact private addresses and any port (intranets, tests)
SITEMON_PORTS = [80, 443]  # the ports that may be contacted
SITEMON_NOW = None  # an ISO moment that pins the run's clock (tests, replays)
SITEMON_SINK = "sitemon_spider.delivery.items.ItemSink"  # where rows go
SITEMON_FIRST_BACKOFF = 1.0  # seconds before the first retry
# Levels of single loggers: a line a site and where the rows are, not how Scrapy is composed.
# `-L DEBUG` lifts them all, `-s SITEMON_LOG_LEVELS={}` gives Scrapy's own INFO lines back.
SITEMON_LOG_LEVELS = {"scrapy": "WARNING", "scrapy.extensions.feedexport": "INFO"}

# --- safety ------------------------------------------------------------------------------------
TWISTED_DNS_RESOLVER = "sitemon_spider.resolver.PublicResolver"
DOWNLOAD_HANDLERS = {
    "http": "sitemon_spider.resolver.WatchedHandler",
    "https": "sitemon_spider.resolver.WatchedHandler",
    "ftp": None,
    "file": None,
    "s3": None,
    "data": None,
}
DOWNLOAD_VERIFY_CERTIFICATES = True
DOWNLOAD_MAXSIZE = 0  # the handler stops at the limit itself and keeps what came [S2]
DOWNLOAD_WARNSIZE = 0
DOWNLOAD_FAIL_ON_DATALOSS = False  # a cut file is read up to its cut [C5]
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
HTTPPROXY_ENABLED = False  # a proxy would bypass the resolver [S1]
COOKIES_ENABLED = False

# --- politeness --------------------------------------------------------------------------------
ROBOTSTXT_OBEY = False  # our own middleware does, by RFC 9309 [R1]
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_TARGET_CONCURRENCY = 1.0
CONCURRENT_REQUESTS_PER_DOMAIN = 1
DOWNLOAD_DELAY_JITTER = 0.0  # jitter would reach below a Crawl-delay
# Requests that wait for their host or for a retry count as well, so this is no pace: the pace is
# one request at a time a host, `delayPerHost` and `requestsPerSecond`.
CONCURRENT_REQUESTS = 256
REDIRECT_MAX_TIMES = 5
DEFAULT_REQUEST_HEADERS = {
    "Accept": "application/xml, text/xml, text/plain;q=0.9, */*;q=0.5",
    # What arrives is unpacked by its bytes, whatever the header says, so only gzip is asked for.
    "Accept-Encoding": "gzip",
}

# --- the walk of the data ----------------------------------------------------------------------
# First in, first out within a priority: breadth first.
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"
SCHEDULER_DISK_QUEUE = "scrapy.squeues.PickleFifoDiskQueue"
DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
    "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
    "scrapy.downloadermiddlewares.cookies.CookiesMiddleware": None,
    "scrapy.downloadermiddlewares.httpproxy.HttpProxyMiddleware": None,
    "sitemon_spider.middlewares.robots.RobotsMiddleware": 60,
    # Behind robots: a request that is forbidden takes no turn of `requestsPerSecond`.
    "sitemon_spider.middlewares.gate.GateMiddleware": 70,
    "sitemon_spider.middlewares.conditional.ConditionalMiddleware": 80,
    # Nearest to the network: it answers before a redirect or a 304 is looked at.
    "sitemon_spider.middlewares.retry.RetryMiddleware": 900,
}
SPIDER_MIDDLEWARES = {
    # Every status has a meaning here, a site lists what it likes, and depth is the reading's.
    "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
    "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
    "sitemon_spider.middlewares.sitemap.SitemapMiddleware": 500,
}
# The dotted order: columns until stage 400, rows behind it (a user's pipelines belong there).
ITEM_PIPELINES = {
    "sitemon_spider.pipelines.normalize.NormalizePipeline": 100,
    "sitemon_spider.pipelines.dedupe.DedupePipeline": 200,
    "sitemon_spider.pipelines.diff.DiffPipeline": 300,
    "sitemon_spider.pipelines.deliver.DeliverPipeline": 400,
}
EXTENSIONS = {
    "scrapy.extensions.throttle.AutoThrottle": None,
    "scrapy.extensions.logstats.LogStats": None,
    "sitemon_spider.extensions.throttle.FloorThrottle": 0,
    "sitemon_spider.extensions.closing.Closing": 0,
}
# Whole files wait here while they are parsed; a few of the largest must fit.
SCRAPER_SLOT_MAX_ACTIVE_SIZE = 64 * 1024 * 1024

# --- feeds and the log -------------------------------------------------------------------------
FEED_EXPORT_FIELDS = list(ROW_FIELDS)  # a CSV has one header for all kinds of rows
FEED_EXPORT_ENCODING = "utf-8"
FEED_STORE_EMPTY = True
FEED_EXPORTERS = {"csv": "sitemon_spider.delivery.csv.SafeCsvExporter"}
LOG_LEVEL = "INFO"
LOG_VERSIONS: list[str] = []  # `scrapy version -v` tells them
LOG_FORMATTER = "sitemon_spider.extensions.logging.QuietLogFormatter"
