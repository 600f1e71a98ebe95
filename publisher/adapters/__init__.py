"""One module for each outside system; only here are SDKs called and their errors caught."""
