"""The embedded mathematics font: what it holds, and what happens without it."""

import base64
import importlib.metadata
import io
import re

import pytest
from fontTools.ttLib import TTFont

from noslip.show.equations import documents
from noslip.show.equations.documents import html_document


@pytest.fixture(scope="module")
def font() -> TTFont:
    found = re.search(r"base64,([\w+/=]+)\)", documents.font_style())
    return TTFont(io.BytesIO(base64.b64decode(found[1])))


def test_the_font_has_the_letters_and_signs_of_our_pages(font):
    known = font.getBestCmap()
    # as browsers map the letters of identifiers: italic m, theta, phi
    for code in (0x1D45A, 0x1D703, 0x1D711, ord("˙"), ord("¨"), ord("−"), ord("("), ord("√")):
        assert code in known, chr(code)


def test_brackets_and_roots_grow(font):
    variants = font["MATH"].table.MathVariants
    grown = dict(
        zip(variants.VertGlyphCoverage.glyphs, variants.VertGlyphConstruction, strict=True)
    )
    for sign in "()[]{}|√":
        construction = grown[font.getBestCmap()[ord(sign)]]
        assert construction.VariantCount > 1 or construction.GlyphAssembly is not None


def test_the_license_stays_with_the_font(font):
    assert "SIL Open Font License" in font["name"].getDebugName(13)


def test_a_page_without_the_package_uses_a_font_of_the_system(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    documents.subset.cache_clear()
    try:
        assert documents.font_style() == ""
        assert "<h1>a</h1>" in html_document("a", [])
    finally:
        monkeypatch.undo()
        documents.subset.cache_clear()
