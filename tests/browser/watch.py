"""What a page does that it should not."""

from urllib.parse import urlsplit

#: viser's sorter of splats, which the studio has none of, starts with an eval; it is refused.
REFUSED = "Evaluating a string as JavaScript violates the following Content Security Policy"
#: What Chromium says of viser's drags of nodes; the camera stays where it is all the same.
HARMLESS = "Unable to preventDefault inside passive event listener invocation."
LOCAL_SCHEMES = {"file", "data", "blob", "about", "devtools"}


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
