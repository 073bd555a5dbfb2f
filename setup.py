"""What `scrapyd-deploy` runs to pack the project; all that it needs is in pyproject.toml."""

from setuptools import setup

setup()
