"""`Player`: which moment of a run is shown now. Plays, pauses, jumps, loops; knows no threads.

The wall clock is given to every call, so that a page that is late skips pictures and stays on time.
"""

from __future__ import annotations

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)


class Player:
    """The time of a run that is shown.

    Parameters
    ----------
    start, end : of the run, s.
    """

    def __init__(self) -> None:
        self.start, self.end = 0.0, 0.0
        self.speed = 1.0
        self.loop = True
        self.is_playing = False
        self._time, self._since = 0.0, 0.0

    def time(self, now: float) -> float:
        """The time of the run to show at a time of the wall clock; it stops at the end."""
        if not self.is_playing:
            return self._time
        t = self._time + (now - self._since) * self.speed
        span = self.end - self.start
        if t <= self.end:
            return t
        if self.loop and span > 0:
            return self.start + (t - self.start) % span
        self._time, self.is_playing = self.end, False
        return self.end

    def take(self, start: float, end: float, now: float) -> None:
        """Show another run, at the time shown so far if it has it."""
        shown = self.time(now)
        self.start, self.end = start, max(start, end)
        self._anchor(min(max(shown, self.start), self.end), now)

    def play(self, now: float) -> None:
        """Play, from the start if the end is shown."""
        t = self.time(now)
        self._anchor(self.start if t >= self.end else t, now)
        self.is_playing = self.end > self.start

    def pause(self, now: float) -> None:
        """Pause at the time shown."""
        self._anchor(self.time(now), now)
        self.is_playing = False

    def jump(self, t: float, now: float) -> None:
        """Seek a time, and play on from there if playing."""
        self._anchor(min(max(t, self.start), self.end), now)

    def set_speed(self, speed: float, now: float) -> None:
        """Play faster or slower from here on."""
        self._anchor(self.time(now), now)
        self.speed = speed

    def _anchor(self, t: float, now: float) -> None:
        self._time, self._since = t, now
