"""The borders where text from outside becomes core values, and core values become text."""
