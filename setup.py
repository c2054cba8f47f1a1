"""The README for a package index, where links relative to the repository lead nowhere."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
SOURCE = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Source"]
RAW = SOURCE.replace("https://github.com", "https://raw.githubusercontent.com") + "/main/"


def with_addresses(text: str) -> str:
    """The text with whole addresses in place of paths of the repository."""
    text = re.sub(r"(!\[[^]]*\]\()(?!https?:|#)([^)]+)", rf"\g<1>{RAW}\g<2>", text)
    return re.sub(
        r"(?<!\!)(\[[^]!]*\]\()(?!https?:|#)([^)]+)", rf"\g<1>{SOURCE}/blob/main/\g<2>", text
    )


setup(
    long_description=with_addresses((HERE / "README.md").read_text("utf-8")),
    long_description_content_type="text/markdown",
)
