"""The README for a package index, where paths of the repository lead nowhere."""

import re
from pathlib import Path

from setuptools import setup

README = (Path(__file__).parent / "README.md").read_text("utf-8")


def without_paths(text: str) -> str:
    """The text without pictures, and with the names of pages in place of links to them."""
    text = re.sub(r"!\[[^]]*\]\((?!https?:)[^)]+\)\n*", "", text)
    return re.sub(r"\[([^]]*)\]\((?!https?:|#)[^)]+\)", r"\1", text)


setup(long_description=without_paths(README), long_description_content_type="text/markdown")
