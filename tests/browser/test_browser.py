"""The browser itself: it draws WebGL, and the watch on it sees what pages must not do."""

import pytest
from watch import Watch


def test_webgl_draws(page):
    page.set_content("<canvas id=c width=8 height=8></canvas>")
    color = page.evaluate(
        """() => {
            const gl = document.getElementById('c').getContext('webgl2');
            gl.clearColor(0, 1, 0, 1);
            gl.clear(gl.COLOR_BUFFER_BIT);
            const pixel = new Uint8Array(4);
            gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
            return Array.from(pixel);
        }"""
    )
    assert color == [0, 255, 0, 255]


def test_the_watch_sees_errors_and_requests(chromium):
    context = chromium.new_context()
    page = context.new_page()
    watch = Watch(page)
    page.set_content(
        "<script>console.error('broken')</script><img src='http://example.invalid/x.png'>"
    )
    page.wait_for_timeout(200)
    context.close()
    assert "broken" in watch.errors[0]
    assert watch.outside == ["http://example.invalid/x.png"]
    with pytest.raises(AssertionError):
        watch.check()
