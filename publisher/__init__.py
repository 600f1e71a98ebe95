"""A publish gate for software releases."""

__version__ = "0.1.0"
