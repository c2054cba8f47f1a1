"""What a page does that it should not."""

from urllib.parse import urlsplit

#: viser's sorter of splats, which the studio has none of, starts with an eval; it is refused.
REFUSED = "Evaluating a string as JavaScript violates the following Content Security Policy"
#: What Chromium says of viser's drags of nodes; the camera stays where it is all the same.
HARMLESS = "Unable to preventDefault inside passive event listener invocation."
LOCAL_SCHEMES = {"file", "data", "blob", "about", "devtools"}
#: Texts whose contrast with what is behind them is too low, as WCAG 2 counts it.
PALE = """() => {
    const read = color => color.match(/[\\d.]+/g).map(Number);
    const part = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    const behind = e => {
        for (; e; e = e.parentElement) {
            const found = read(getComputedStyle(e).backgroundColor);
            if (found.length === 3 || found[3] > 0) return found;
        }
        return [255, 255, 255];
    };
    const pale = [];
    for (const e of document.querySelectorAll('header *, nav *, main *')) {
        if (e.closest('svg, math') || !e.checkVisibility()) continue;
        if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
        let opacity = 1;
        for (let p = e; p; p = p.parentElement) opacity *= Number(getComputedStyle(p).opacity);
        const back = behind(e), ink = read(getComputedStyle(e).color).slice(0, 3)
            .map((c, k) => opacity * c + (1 - opacity) * back[k]);
        const [a, b] = [light(ink), light(back)].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        if (ratio < 4.5) pale.push([ratio, e.textContent.slice(0, 40)]);
    }
    return pale;
}"""


class Watch:
    """Errors a page printed, and addresses it asked for beyond this machine."""

    def __init__(self, page):
        self.errors: list[str] = []
        self.outside: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", self._error)
        page.on("request", lambda request: self._request(request.url))
        page.on("websocket", lambda socket: self._request(socket.url))

    def _error(self, error):
        if REFUSED not in str(error):
            self.errors.append(str(error))

    def _console(self, message):
        if message.type == "error" and message.text != HARMLESS:
            self.errors.append(message.text)

    def _request(self, url):
        parts = urlsplit(url)
        if parts.scheme not in LOCAL_SCHEMES and parts.hostname not in ("127.0.0.1", "localhost"):
            self.outside.append(url)

    def check(self):
        assert self.outside == []
        assert self.errors == []
