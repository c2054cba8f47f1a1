"""Formats of models, runs and equations that the package does not have.

A plugin as a user would write it: it imports noslip, defines classes, and registers nothing.
"""

import json

import numpy as np

from noslip.formats import AbstractEquationFormat, AbstractModelText, AbstractRunFormat


class Json(AbstractModelText):
    """The tables of a model file as JSON."""

    word = "own_json"
    name = "JSON"
    suffixes = (".json",)

    def table(self, text, file):
        return json.loads(text), {}

    def text(self, table):
        return json.dumps(table, indent=1)


class Npz(AbstractRunFormat):
    """An archive of NumPy arrays, one a column, with their units beside them."""

    word = "own_npz"
    name = "NumPy's npz"
    suffixes = (".npz",)

    def write(self, run, path):
        columns = {"time": ("s", run.t), **run.columns}
        units = np.array([unit for unit, _ in columns.values()])
        np.savez(path, **{name: values for name, (_, values) in columns.items()}, units=units)

    def read(self, path):
        with np.load(path) as file:
            names = [name for name in file.files if name != "units"]
            return {n: (str(u), file[n]) for n, u in zip(names, file["units"], strict=True)}


class Titles(AbstractEquationFormat):
    """The titles of a derivation's sections."""

    word = "own_titles"
    name = "titles"
    suffixes = (".own.txt",)

    def text(self, title, sections):
        return "\n".join([title, *(section.title for section in sections)])
