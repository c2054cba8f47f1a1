"""Tutorials: a script of cells is the source; this writes its page and its notebook.

    python docs/site/tutorials.py [NAME ...]

A cell begins with ``# %%``; one of prose with ``# %% [markdown]``, and its lines with ``# ``.
Cells are run, what they print stands below them, and a figure that a cell ends in is saved as a
picture. Page and notebook are committed; tests compare their code and prose with the script, and
with ``--long`` (`make test-all`) what the page shows with what the script prints.
"""

import ast
import contextlib
import io
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from noslip.show.animate import AnimationPlayer

FOLDER = Path(__file__).parents[1] / "learn"
IMAGES = Path(__file__).parents[1] / "images" / "learn"
#: Lines of output that are shown of each cell.
SHOWN = 24


def cells(path):
    """(is_prose, text) of all cells of a script."""
    found = []
    for piece in re.split(r"^# %%", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        head, _, body = piece.partition("\n")
        body = body.strip("\n")
        if "[markdown]" in head:
            prose = "\n".join(
                line.removeprefix("#").removeprefix(" ") for line in body.splitlines()
            )
            found.append((True, prose))
        elif body:
            found.append((False, body))
    return found


def notebook(path):
    """The notebook of a script as text, without outputs."""
    made = []
    for k, (is_prose, text) in enumerate(cells(path)):
        common = {"id": f"cell-{k}", "metadata": {}, "source": text.splitlines(keepends=True)}
        if is_prose:
            made.append({"cell_type": "markdown", **common})
        else:
            made.append({"cell_type": "code", "execution_count": None, "outputs": [], **common})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {
        "cells": made,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def page(path, results=None):
    """The page of a script; `results` are what each code cell printed and its picture."""
    lines, number = [], 0
    for is_prose, text in cells(path):
        if is_prose:
            lines += [text, ""]
            continue
        lines += ["```python", text, "```", ""]
        if results is not None:
            printed, picture = results[number]
            if printed:
                lines += ["```", *printed, "```", ""]
            if picture:
                lines += [f"![{picture[0]}](../images/learn/{picture[1]})", ""]
        number += 1
    name = path.stem
    lines += [f"*This page as a [script]({name}.py) and as a [notebook]({name}.ipynb).*", ""]
    return "\n".join(lines)


def run(path, images=IMAGES):
    """What each code cell prints, and the picture it ends in, from a copy of the folder's data."""
    images.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for data in FOLDER.glob("*.urdf"):
            shutil.copy(data, folder)
        return run_cells(path, images)


def run_cells(path, images):
    """The same, in the current folder."""
    namespace, results = {"__name__": "__main__"}, []
    for is_prose, text in cells(path):
        if is_prose:
            continue
        tree = ast.parse(text)
        last = tree.body[-1] if isinstance(tree.body[-1], ast.Expr) else None
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            body = tree.body[:-1] if last else tree.body
            exec(compile(ast.Module(body, []), str(path), "exec"), namespace)
            value = (
                eval(compile(ast.Expression(last.value), str(path), "eval"), namespace)
                if last
                else None
            )
        lines = printed.getvalue().splitlines()
        picture = None
        if isinstance(value, Figure | Image.Image | AnimationPlayer):
            file = f"{path.stem}-{len(results)}.png"
            if isinstance(value, Figure):
                value.savefig(images / file, dpi=110)
            elif isinstance(value, AnimationPlayer):
                (images / file).write_bytes(value.still)
            else:
                value.save(images / file, optimize=True)
            subject = path.stem.replace("_", " ")
            picture = (f"Figure of the tutorial: {subject}", file)
        elif value is not None:
            lines += str(value).splitlines()
        if len(lines) > SHOWN:
            lines = [*lines[:SHOWN], "…"]
        results.append((lines, picture))
    return results


def main():
    names = sys.argv[1:] or [path.stem for path in sorted(FOLDER.glob("*.py"))]
    for name in names:
        path = FOLDER / f"{name}.py"
        (FOLDER / f"{name}.md").write_text(page(path, run(path)), "utf-8")
        (FOLDER / f"{name}.ipynb").write_text(notebook(path), "utf-8")
        print(name)


if __name__ == "__main__":
    main()
