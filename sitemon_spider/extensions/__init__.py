"""Politeness per host, and the end of a run."""
