"""Exponential backoff: how long to wait before the next try, with jitter."""

from __future__ import annotations

import random


class Backoff:
    def __init__(self, first: float = 0.1, most: float = 5.0) -> None:
        self._first, self._most = first, most
        self._next = first

    def reset(self) -> None:
        self._next = self._first

    def delay(self, asked_for: float = 0.0) -> float:
        """Seconds; at least what the server has @asked_for."""
        base, self._next = self._next, min(self._next * 2, self._most)
        return max(asked_for, base * random.uniform(0.5, 1.0))
