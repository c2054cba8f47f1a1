"""Text helpers of messages and summaries."""

from __future__ import annotations


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun: "1 sample", "3 samples", "2 bodies"."""
    return f"{count} {one if count == 1 else many or one + 's'}"
