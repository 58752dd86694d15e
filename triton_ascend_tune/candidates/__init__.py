"""Candidates from the kernel itself: axes, what fits on the chip, tiles, compile options, search."""
