"""Makes for real, on an emulated AWS, what the Pulumi program registers; it creates only, once, from nothing.

It runs in a process of its own (`python -m sandbox.cloud`), because Pulumi's runtime leaves event loops and
settings behind, and the program's folder belongs first on the path. `sandbox.deploy` starts it.
"""
