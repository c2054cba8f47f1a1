"""Reference screenshots: how alike two pictures look, and the pages kept in ``reference/``.

A kept picture has half the pixels in each direction and a palette. Both pictures are brought to
that size, to OKLab (a difference of 1 is about what one just sees) and blurred, so that a block of
8 × 8 pixels of the page weighs its ink, not its edges. The difference of a block is the least over
moves by up to two pixels: other hinting and antialiasing move ink by less, while what is missing,
wrapped or of another color is nowhere near.
"""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from color_vision import linear, oklab
from PIL import Image, ImageFilter
from PIL.PngImagePlugin import PngInfo

FOLDER = Path(__file__).parent / "reference"
#: Pictures are kept with one pixel for so many in each direction.
KEPT = 2
#: Colors of a kept picture.
COLORS = 256
#: Radius of the blur and side of a block, in kept pixels.
BLUR, BLOCK = 1.4, 4
#: Moves of blocks that are no difference, in halves of kept pixels.
MOVES = range(-2, 3)
#: Largest difference of a block, and their mean. The palette makes up to 2 and 0.03, a shift by a
#: pixel or other hinting 3.5 and 0.07; a thin curve that is missing makes 6, a word 13, and a
#: figure 30 (`test_reference_pictures.py`).
LARGEST, MEAN = 4.5, 0.2
#: Pixels of the page by which heights may differ.
HEIGHT = 6
#: A text whose width tells fonts apart, and the part by which it may differ.
PROBE, WIDER = "Hamburgefonstiv 0123456789", 0.004
WIDTH_OF = """text => {
    const span = document.createElement('span');
    span.textContent = text;
    span.style.cssText = 'position: absolute; font: 100px system-ui, sans-serif; white-space: pre';
    document.body.append(span);
    const width = span.getBoundingClientRect().width;
    span.remove();
    return width;
}"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two pictures differ, by blocks.

    Parameters
    ----------
    blocks : (rows, columns) differences.
    heights : of reference and got, pixels of the page.
    """

    blocks: np.ndarray
    heights: tuple[int, int]

    @property
    def faults(self) -> list[str]:
        """What differs by more than hinting does; empty for pictures that look alike."""
        found = []
        before, now = self.heights
        if abs(before - now) > HEIGHT:
            found.append(f"it is {now} px high, it was {before} px")
        row, column = np.unravel_index(np.argmax(self.blocks), self.blocks.shape)
        side = KEPT * BLOCK
        if (worst := self.blocks.max()) > LARGEST:
            found.append(
                f"it differs by {worst:.1f} (allowed: {LARGEST}) at x = {(column + 1) * side} px, "
                f"y = {(row + 1) * side} px"
            )
        if (mean := self.blocks.mean()) > MEAN:
            found.append(f"it differs by {mean:.2f} on average (allowed: {MEAN})")
        return found


def compare(reference: Image.Image, got: Image.Image) -> Comparison:
    """Compare two pictures of the size that is kept."""
    columns, rows = (min(pair) for pair in zip(reference.size, got.size, strict=True))
    a, b = (_seen(picture.crop((0, 0, columns, rows))) for picture in (reference, got))
    # at the edges a move would bring in what is beyond them
    down, right = (np.arange(BLOCK, size - BLOCK, BLOCK) for size in (rows, columns))
    least = np.full((len(down), len(right)), np.inf)
    for y in MOVES:
        across = (b[down + y // 2] + b[down + -(-y // 2)]) / 2
        for x in MOVES:
            moved = (across[:, right + x // 2] + across[:, right + -(-x // 2)]) / 2
            apart = a[np.ix_(down, right)] - moved
            np.minimum(least, np.linalg.norm(apart, axis=2), out=least)
    return Comparison(least, (KEPT * reference.height, KEPT * got.height))


def _seen(picture: Image.Image) -> np.ndarray:
    """(rows, columns, 3) blurred colors in hundredths of OKLab."""
    picture = picture.convert("RGB").filter(ImageFilter.GaussianBlur(BLUR))
    return oklab(linear(np.asarray(picture) / 255.0))


def reduced(data: bytes) -> Image.Image:
    """A screenshot in the size that is kept."""
    return Image.open(io.BytesIO(data)).convert("RGB").reduce(KEPT)


class References:
    """Compares pages with the pictures in ``reference/``, or puts them there.

    Parameters
    ----------
    failed : folder for pictures of pages that differ.
    accept : put pictures that differ into ``reference/``.
    """

    def __init__(self, failed: Path, *, accept: bool):
        self.failed, self.accept = failed, accept

    def check(self, page, name, *, left=0, height=1600, masked=(), style="") -> None:
        """Compare the upper part of a page with the picture of that name.

        Parameters
        ----------
        left : pixels at the left that are not compared.
        height : pixels of the page that are compared.
        masked : selectors of what differs from run to run.
        style : CSS for the screenshot.
        """
        wide = page.viewport_size["width"]
        whole = page.evaluate("document.documentElement.scrollHeight")
        data = page.screenshot(
            full_page=True,
            clip={"x": left, "y": 0, "width": wide - left, "height": min(height, whole)},
            mask=[page.locator(selector) for selector in masked],
            mask_color="#c8c8c8",
            animations="disabled",
            style=style,
        )
        font = page.evaluate(WIDTH_OF, PROBE)
        self.check_picture(reduced(data), name, font)

    def check_picture(self, got: Image.Image, name: str, font: float) -> None:
        """Compare a picture of the size that is kept, drawn with a font of a width."""
        path = FOLDER / f"{name}.png"
        if not path.exists():
            if self.accept:
                _keep(got, path, font)
                return
            raise AssertionError(f"there is no picture {path.name}: {ACCEPT}")
        with Image.open(path) as opened:
            before = float(opened.info["font"])
            reference = opened.convert("RGB")
        if abs(font / before - 1) > WIDER:
            pytest.skip(f"texts are {font / before:.3f} times as wide in the font of this machine")
        found = compare(reference, got)
        if found.faults and self.accept:
            _keep(got, path, font)
        elif found.faults:
            places = self._show(reference, got, found, name)
            faults = "; ".join(found.faults)
            raise AssertionError(f"{name} does not look as it did: {faults}\n{places}\n{ACCEPT}")

    def _show(self, reference: Image.Image, got: Image.Image, found: Comparison, name: str) -> str:
        """Write reference, got and difference; returns where they are."""
        self.failed.mkdir(parents=True, exist_ok=True)
        shade = np.clip(255 - 255 * found.blocks / (2 * LARGEST), 0, 255).astype(np.uint8)
        size = (BLOCK * shade.shape[1], BLOCK * shade.shape[0])
        difference = Image.fromarray(shade).resize(size, Image.Resampling.NEAREST)
        pictures = {"reference": reference, "got": got, "difference": difference}
        for word, picture in pictures.items():
            picture.save(self.failed / f"{name}-{word}.png")
        return f"see {self.failed / name}-reference.png, -got.png and -difference.png"


ACCEPT = "look at it; if it is meant, accept it: pytest tests/browser --accept-screenshots"


def _keep(picture: Image.Image, path: Path, font: float) -> None:
    path.parent.mkdir(exist_ok=True)
    noted = PngInfo()
    noted.add_text("font", f"{font:.3f}")
    small = picture.quantize(COLORS, kmeans=3, dither=Image.Dither.NONE)
    small.save(path, optimize=True, pnginfo=noted)
