"""Colors by role, the same in plots, pictures, animations and reports.

The six colors keep a contrast of at least 3 on white and on dark paper, and stay apart for people
who do not see red, green or blue.
"""

from __future__ import annotations

#: Text, axes and what has no color of its own; pages of either shade replace it.
INK = "#16181a"
#: Blue, orange, green, crimson, violet, ochre.
PALETTE = ("#3264b9", "#fb650f", "#22a688", "#be1478", "#b575f8", "#786419")
#: Paths of a body and of its contacts, and what an estimator believes.
PATH_COLORS = {"body": PALETTE[0], "contact": PALETTE[1], "estimate": PALETTE[4]}
#: Arrows.
FORCE, VELOCITY = PALETTE[3], PALETTE[2]
