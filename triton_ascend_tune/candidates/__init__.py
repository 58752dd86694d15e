"""Candidates from the kernel itself: its axes, what fits on the chip, tiles, compile options, and the search over them."""
