"""Fakes, builders of data and servers for the tests."""
