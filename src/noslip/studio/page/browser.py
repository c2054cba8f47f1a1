"""Access to viser internals without a public API: camera, values, connections, sharing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from viser import _messages

from noslip.base import Array


def point_camera(client: Any, position: Array, look_at: Array, up: Array, view: float) -> None:
    """Set the camera of a browser.

    The setters of viser compare with what the browser reported last. A report that comes between
    two of them makes it skip one, so all four messages are sent as they are.

    Parameters
    ----------
    client : of the viser server.
    position, look_at, up : m, in the world.
    view : angle from the lower to the upper edge, rad.
    """
    send = client._websock_connection.queue_message
    with client.atomic():
        send(_messages.SetCameraUpDirectionMessage(_triple(up)))
        send(_messages.SetCameraPositionMessage(_triple(position)))
        send(_messages.SetCameraLookAtMessage(_triple(look_at)))
        send(_messages.SetCameraFovMessage(float(view)))


def send_value(handle: Any, value: float) -> None:
    """Set what a handle shows, and send it even where viser takes the browser to show it already.

    What a browser sends is noted at once, while it may show an older value that was on its way to
    it in the meantime.

    Parameters
    ----------
    handle : of an input on the page.
    value : to be shown.
    """
    handle.value = value
    impl = handle._impl
    message = _messages.GuiUpdateMessage(impl.uuid, {"value": value})
    impl.gui_api._websock_interface.queue_message(message)


def live_connection(server: Any, client_id: int) -> Any:
    """The connection of a browser; None where it has gone."""
    return server._websock_server._live_connections.get(client_id)


def on_connection(server: Any, told: Callable[[Any], None]) -> None:
    """Tell of each connection, before a page is there or anything of it is heard."""
    server._websock_server.on_client_connect(told)


def remove_share_link(server: Any) -> None:
    """Remove the share button of viser, which would open a tunnel to the server."""
    for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(message)


def _triple(vector: Array) -> tuple[float, float, float]:
    x, y, z = (float(e) for e in vector)
    return x, y, z
