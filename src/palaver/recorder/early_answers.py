"""Answers over HTTP/2 that come before the request has been sent, as when an upstream refuses a long one.

httpcore2 looks at the answer once all of the body is sent. But an upstream that has answered takes no more of the body,
and it would wait for that until the timeout, although the answer is there. It has no public place to change this.
"""

# pyright: reportPrivateUsage=false

from typing import Any

from h2.events import StreamEnded, StreamReset
from httpcore2._async import http2


class _AnsweredError(Exception):
    """The upstream has answered, or has given the request up."""


class EarlyAnswerConnection(http2.AsyncHTTP2Connection):
    """A connection that stops sending a body for which the upstream does not wait any more."""

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


def pass_early_answers_on() -> None:
    """Make httpcore2 use such connections, for this whole process."""
    http2.AsyncHTTP2Connection = EarlyAnswerConnection
