"""Writes docs/papers.md and draws papers/*.png, the figures of the five papers that it shows.

python docs/images/papers.py
"""

from __future__ import annotations

from pathlib import Path

from noslip.show.paper_figures import paper_figure
from noslip.show.papers import SHOWN, papers_page

HERE = Path(__file__).parent

if __name__ == "__main__":
    (HERE.parent / "papers.md").write_text(papers_page())
    (HERE / "papers").mkdir(exist_ok=True)
    for paper, number in SHOWN:
        paper_figure(paper, number).savefig(HERE / "papers" / f"{paper}-{number}.png", dpi=110)
