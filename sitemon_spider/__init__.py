"""sitemon: watch the XML sitemaps of websites and tell what changed since the last run."""

__version__ = "0.1.0"
