"""Interrupts, failing allocations and writes, and forks, at random instructions.

`make torture SECONDS=1200` runs it open-ended; see `torture.__main__`.
"""
