"""How a notebook shows equations: the motion in MathML and LaTeX, the derivation folded."""

import sys
import types
import xml.etree.ElementTree as ElementTree

from sled_with_rotor import sled_with_rotor

import noslip as ns
from noslip.show.notebook import (
    EQUATIONS,
    equations_html,
    equations_latex,
    install_displays,
)


def test_html_has_the_motion_first_and_the_derivation_folded():
    page = equations_html(ns.derive(sled_with_rotor()))
    root = ElementTree.fromstring(page)
    headings = [h.text for h in root.findall("h2")]
    assert headings == ["Equations of motion"]
    (folded,) = root.findall("details")
    assert [h.text for h in folded.findall("h2")][:2] == ["Model and method", "Frames and bodies"]
    assert "<script" not in page and "http" not in page


def test_latex_is_the_motion_alone():
    text = equations_latex(ns.derive(sled_with_rotor()))
    assert text.startswith(r"\begin{align*}") and text.endswith(r"\end{align*}")
    assert r"\left(m_{1} + m_{2}\right) \dot{v}_{x}" in text


class Formatter:
    """The part of IPython's formatters that takes a type by its name."""

    def __init__(self):
        self.known = {}

    def for_type_by_name(self, module, name, function):
        self.known[module, name] = function


def test_ipython_is_told_by_name(monkeypatch):
    formatters = {"text/html": Formatter(), "text/latex": Formatter()}
    shell = types.SimpleNamespace(display_formatter=types.SimpleNamespace(formatters=formatters))
    ipython = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert install_displays()
    assert formatters["text/html"].known == {EQUATIONS: equations_html}
    assert formatters["text/latex"].known == {EQUATIONS: equations_latex}


def test_the_name_is_that_of_the_type():
    assert (ns.Equations.__module__, ns.Equations.__qualname__) == EQUATIONS


def test_without_ipython_nothing_happens(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not install_displays()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    assert not install_displays()


def test_a_notebook_that_imports_noslip_needs_no_call(tmp_path):
    """In a process where IPython is loaded first, the import itself registers the display."""
    import subprocess

    script = (
        "import sys, types\n"
        "known = {}\n"
        "class F:\n"
        "    def for_type_by_name(self, module, name, function): known[module, name] = function\n"
        "shell = types.SimpleNamespace(display_formatter=types.SimpleNamespace(\n"
        "    formatters={'text/html': F(), 'text/latex': F()}))\n"
        "sys.modules['IPython'] = types.SimpleNamespace(get_ipython=lambda: shell)\n"
        "import noslip\n"
        "print(sorted(known))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "('noslip.formulations.base', 'Equations')" in done.stdout, done.stderr
