"""The mathematics font of pages: a subset of STIX Two Math, embedded so that pages work offline.

The font comes with the package ziamath (SIL Open Font License). What a browser needs of it for our
MathML, letters, operators, and brackets and roots that grow, is cut out by fontTools on first use
and kept in the cache of compiled code. Without the package, pages use a font of the system.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import io
import logging
from functools import cache
from pathlib import Path

from noslip.engines import stored

#: Name by which our pages know the font.
FAMILY = "noslip math"
_FILE = "ziamath/fonts/STIXTwoMath-Regular.ttf"
#: Changes with what is cut out.
_VERSION = b"1"
#: Upright letters, signs, accents alone and combining, and what is invisible between factors.
_SIGNS = "−·×→≥≤≠±√∂∑Σ∞′ℓ≈…˙¨⃛ˆ̇̈̂¯‖|⋅⟨⟩⁡⁢⁣½\u00a0"


def _characters() -> set[int]:
    """Code points of the subset: ASCII, Greek, italic letters as browsers map them, signs."""
    found = set(range(0x20, 0x7F)) | set(range(0x391, 0x3CA)) | {ord(c) for c in _SIGNS}
    found |= set(range(0x1D434, 0x1D468)) | {0x210E}  # italic Latin letters
    found |= set(range(0x1D6E2, 0x1D71C))  # italic Greek letters
    return found


def font_style() -> str:
    """CSS that defines the font and uses it for mathematics; empty without the font."""
    data = subset()
    if not data:
        return ""
    encoded = base64.b64encode(data).decode("ascii")
    return (
        f'@font-face {{ font-family: "{FAMILY}"; src: url(data:font/woff;base64,{encoded}) '
        'format("woff"); }\n'
        f'.noslip math {{ font-family: "{FAMILY}", "STIX Two Math", "Cambria Math", math; }}'
    )


@cache
def subset() -> bytes:
    """The subset as WOFF, from the cache or newly made; empty if the package is not there."""
    try:
        version = importlib.metadata.version("ziamath").encode("ascii")
        key = hashlib.sha256(b"math font " + _VERSION + version + b"".join(
            code.to_bytes(3, "big") for code in sorted(_characters())
        )).digest()  # fmt: skip
        return stored(key, _cut)
    except (ImportError, OSError):
        return b""


def _cut() -> bytes:
    """Glyphs of the characters and all their sizes, with the table that says how they grow."""
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    logging.getLogger("fontTools").setLevel(logging.ERROR)
    # the file alone: nothing of the package is imported
    source = importlib.metadata.distribution("ziamath").locate_file(_FILE)
    font = TTFont(io.BytesIO(Path(str(source)).read_bytes()), recalcTimestamp=False)
    options = Options()
    options.layout_features = ["ssty", "dtls", "flac", "kern"]
    options.hinting = False
    options.name_IDs = [0, 1, 2, 13, 14]  # copyright and license stay
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=_characters())
    subsetter.subset(font)
    font.flavor = "woff"
    written = io.BytesIO()
    font.save(written)
    return written.getvalue()
