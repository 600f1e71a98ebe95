"""The rules of the gate: pure values and functions, no I/O, no clock, no SDK."""
