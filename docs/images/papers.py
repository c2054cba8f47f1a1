"""Writes docs/papers.md and draws papers/*.png, the figures of the five papers.

python docs/images/papers.py
"""

from __future__ import annotations

from pathlib import Path

from noslip.show.papers import SCHEMATICS, paper_entries, paper_figure, papers_page

HERE = Path(__file__).parent

if __name__ == "__main__":
    (HERE.parent / "papers.md").write_text(papers_page())
    (HERE / "papers").mkdir(exist_ok=True)
    for entry in paper_entries():
        if entry.is_figure:
            # pictures have fewer lines than plots
            dpi = 75 if (entry.paper, entry.number) in SCHEMATICS else 110
            name = f"{entry.paper}-{entry.number}.png"
            paper_figure(entry.paper, entry.number).savefig(HERE / "papers" / name, dpi=dpi)
