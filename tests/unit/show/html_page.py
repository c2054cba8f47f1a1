"""A page read strictly: every tag closed in order, and what it holds by section."""

from html.parser import HTMLParser

VOID = {"meta", "link", "img", "br", "hr", "input", "col", "source"}


class HtmlPage(HTMLParser):
    """Elements, headings, numbers and text of a page; a tag out of order is an error.

    Parameters
    ----------
    source : the markup.
    """

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.open = []
        self.elements = []
        self.headings = []
        self.sections = {}
        self.numbers = {}
        self.rows = {}
        self.feed(source)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        assert len(attributes) == len(dict(attributes)), f"an attribute twice in <{tag}>"
        self.elements.append((tag, attributes))
        if tag in ("h1", "h2", "h3", "h4"):
            self.headings.append((int(tag[1]), ""))
        if tag == "section":
            self.sections[self.key(attributes)] = ""
        if tag == "tr":
            self.rows.setdefault(self.section, []).append([])
        if tag in ("td", "th") and self.section is not None:
            self.rows[self.section][-1].append("")
        if tag == "data":
            self.numbers.setdefault(self.section, []).append(float(attributes["value"]))
        if tag not in VOID:
            self.open.append((tag, attributes))

    def handle_endtag(self, tag):
        assert tag not in VOID, f"</{tag}> has no content"
        assert self.open and self.open[-1][0] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        tags = [tag for tag, _ in self.open]
        if self.headings and any(tag in ("h1", "h2", "h3", "h4") for tag in tags):
            level, words = self.headings[-1]
            self.headings[-1] = (level, words + data)
        if self.section is not None:
            self.sections[self.section] += data
            if "td" in tags or "th" in tags:
                self.rows[self.section][-1][-1] += data

    @property
    def section(self):
        """Key of the section that is open."""
        return next((self.key(a) for t, a in reversed(self.open) if t == "section"), None)

    @staticmethod
    def key(attributes):
        """What a section is called: by the id of its heading, if it has one."""
        return attributes.get("aria-labelledby", "").removesuffix("-title")

    def of(self, tag):
        """Attributes of all elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def row(self, section, name):
        """The cells of the row of a table that begins with a name."""
        (found,) = [cells for cells in self.rows[section] if cells and cells[0] == name]
        return found[1:]
