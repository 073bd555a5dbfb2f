"""The chain of the data: normalize, dedupe, diff, deliver."""
