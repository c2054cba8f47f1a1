"""The site: `make docs`, without network; Read the Docs and Pages run the same."""

import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "site"))

import api  # noqa: E402
import commands  # noqa: E402
import live  # noqa: E402
import mathematics  # noqa: E402

import noslip  # noqa: E402
from noslip.model.files import model_schema  # noqa: E402
from noslip.show.run_folder import json_text  # noqa: E402

project, author = "noslip", "The noslip developers"
copyright = author
version = release = noslip.__version__

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# paths of files that are named in the text, and pages that other pages call by their file
suppress_warnings = ["myst.header"]
exclude_patterns = ["README.md", "site", "_build", "images/*.py", "learn/*.ipynb"]
highlight_language = "none"

html_theme = "furo"
html_title = "noslip"
html_static_path = ["_static"]
html_css_files = ["site.css", "mathematics.css"]
html_theme_options = {"source_repository": "", "navigation_with_keys": True}
html_show_sourcelink = False


def generate():
    """Pages that follow from the code: API, command line, schema, changelog, and what is left."""
    made = HERE / "generated"
    made.mkdir(exist_ok=True)
    pages, without = api.write(made / "api")
    if without:
        print("without an example:", ", ".join(without))
    commands.write(made / "commands.md")
    static = HERE / "_static"
    static.mkdir(exist_ok=True)
    (static / "noslip.schema.json").write_text(json_text(model_schema()) + "\n", "utf-8")
    shutil.copy(HERE / "site" / "site.css", static)
    mathematics.write(static / "mathematics.css")
    log = (HERE.parent / "CHANGELOG.md").read_text("utf-8")
    log = re.sub(r"\]\(docs/([^)]+)\)", r"](../\1)", log)
    (made / "changelog.md").write_text(log, "utf-8")
    # pages that no list names yet
    named = set()
    for page in (HERE / "index.md", *HERE.glob("*/index.md")):
        for block in re.findall(r"^:::\{toctree\}\n(.*?)^:::$", page.read_text(), re.M | re.S):
            named |= {
                (page.parent / line).resolve().stem
                for line in re.findall(r"^[\w./-]+$", block, re.M)
            }
    left = [p.stem for p in sorted(HERE.glob("*.md")) if p.stem not in named | {"README", "index"}]
    pages_ = sorted(p for p in HERE.glob("*.md") if p.stem not in ("README", "index"))
    titles = [(p.stem, p.read_text("utf-8").partition("\n")[0].lstrip("# ")) for p in pages_]
    lines = ["# All pages", "", *(f"- [{title}](../{stem}.md)" for stem, title in titles), ""]
    if left:
        lines += [":::{toctree}", ":hidden:", "", *(f"../{stem}" for stem in left), ":::", ""]
    (made / "pages.md").write_text("\n".join(lines), "utf-8")
    return pages


def setup(app):
    """Live pages, and links to them where a model is shown."""
    names = live.write(HERE / "_static" / "live")
    app.connect("doctree-read", mathematics.typeset)
    app.connect("source-read", lambda app, page, source: live.link(page, source, names))


generate()
