"""Connections over HTTP/2 that take every answer an upstream gives, also one that httpcore2 would not wait for.

An upstream may answer before the request has been sent, as when it refuses a long one. httpcore2 looks at the answer
once all of the body is sent; but an upstream that has answered takes no more of the body, and it would wait for that
until the timeout, although the answer is there.

An upstream may also announce that it is going to close the connection, and answer what it has been asked before. h2
takes no more frames after such an announcement. Neither has a public place to change this.
"""

# pyright: reportPrivateUsage=false

from typing import Any

from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import Event, StreamEnded, StreamReset
from httpcore2._async import http2
from hyperframe.frame import Frame, GoAwayFrame


class _AnsweredError(Exception):
    """The upstream has answered, or has given the request up."""


class _State(H2Connection):
    """The state of a connection, which stays open for the answers that an announced end leaves to come."""

    is_ending = False
    """Whether the upstream takes no further requests on this connection."""

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
        if frame.error_code != ErrorCodes.NO_ERROR or frame.last_stream_id < self.highest_outbound_stream_id:
            return super()._receive_goaway_frame(frame)
        self.is_ending = True
        return [], []


class Http2Connection(http2.AsyncHTTP2Connection):
    """A connection that waits for an answer as long as the upstream may give one, and for nothing else."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._h2_state: _State = _State(config=self.CONFIG)

    async def _send_request_body(self, request: Any, stream_id: int) -> None:
        try:
            await super()._send_request_body(request, stream_id)
        except _AnsweredError:
            # It closes at the end of the answer: the upstream may never open its window for another request.
            self._used_all_stream_ids = True

    async def _wait_for_outgoing_flow(self, request: Any, stream_id: int) -> int:
        """Return how many bytes can be sent, which is more than none."""
        while True:
            if any(isinstance(event, StreamEnded | StreamReset) for event in self._events[stream_id]):
                raise _AnsweredError
            window = self._h2_state.local_flow_control_window(stream_id)
            if (size := min(window, self._h2_state.max_outbound_frame_size)) > 0:
                return size
            await self._receive_events(request)

    async def _response_closed(self, stream_id: int) -> None:
        if self._h2_state.is_ending:
            self._used_all_stream_ids = True
        await super()._response_closed(stream_id)


def use_http2_connections() -> None:
    """Make httpcore2 use such connections, for this whole process."""
    http2.AsyncHTTP2Connection = Http2Connection
