"""The whole system on one machine: an emulated AWS on loopback, and the demo that runs on it."""
