"""Lines of results on a console: broken between words, below their column; pipes get them whole."""

import io

from noslip.cli.console import broken, fitted

LINE = "  tracking error       0.2 m at most (path.position_error), 0.00373 m at the end (base.y)"


class Console(io.StringIO):
    def isatty(self):
        return True


def test_a_line_goes_on_below_its_second_column():
    pieces = broken(LINE, 60).split("\n")
    assert [piece.split() for piece in pieces] == [
        "tracking error 0.2 m at most (path.position_error),".split(),
        "0.00373 m at the end (base.y)".split(),
    ]
    assert all(len(piece) <= 60 for piece in pieces)
    column = LINE.index("0.2")
    assert all(piece[:column].isspace() and piece[column] != " " for piece in pieces[1:])
    assert broken(LINE, len(LINE)) == LINE


def test_a_long_first_column_leaves_room_for_words():
    line = "eigenvalues of a very long name of this  one two three four five"
    pieces = broken(line, 50).split("\n")
    assert pieces[1].startswith("  ") and not pieces[1].startswith("   ")
    assert " ".join(" ".join(pieces).split()) == " ".join(line.split())


def test_pipes_get_whole_lines_and_consoles_their_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert fitted(LINE, io.StringIO()) == LINE
    assert fitted(f"agv\n{LINE}", Console()) == f"agv\n{broken(LINE, 60)}"
    monkeypatch.setenv("COLUMNS", "120")
    assert fitted(LINE, Console()) == LINE
