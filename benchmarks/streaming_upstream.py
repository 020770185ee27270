"""An upstream on loopback that streams answers, each event with the time at which it was sent.

    python benchmarks/streaming_upstream.py

It prints its port. `POST /v1/messages?events=N&every_ms=T&held=1` streams N events, one every T milliseconds; a held
answer ends only after `POST /release`. Times are of the system's monotonic clock, which all its processes share.
"""

import asyncio
import random
import time
from urllib.parse import parse_qs, urlsplit

from invented_streams import anthropic

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
DONE = b"HTTP/1.1 204 No Content\r\n\r\n"


class Upstream:
    def __init__(self) -> None:
        self._released = asyncio.Event()
        self._events: dict[int, list[bytes]] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(_content_length(head))
                target = urlsplit(head.split(b" ", 2)[1].decode())
                if target.path == "/release":
                    self._released.set()
                    self._released = asyncio.Event()
                    writer.write(DONE)
                else:
                    asked = {name: int(values[0]) for name, values in parse_qs(target.query).items()}
                    await self._stream(writer, **asked)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _stream(self, writer: asyncio.StreamWriter, *, events: int, every_ms: int = 0, held: int = 0) -> None:
        released = self._released
        writer.write(HEAD)
        await asyncio.sleep(random.random() * every_ms / 1_000)
        for event in self._invented(events):
            body, end = event.rsplit(b"}", 1)
            sent = b'%b,"sent":%d}%b' % (body, time.monotonic_ns(), end)
            writer.write(b"%x\r\n%b\r\n" % (len(sent), sent))
            await writer.drain()
            if every_ms:
                await asyncio.sleep(every_ms / 1_000)
        if held:
            await released.wait()
        writer.write(b"0\r\n\r\n")

    def _invented(self, events: int) -> list[bytes]:
        if events not in self._events:
            self._events[events] = [event + b"\n\n" for event in anthropic(events).split(b"\n\n")[:-1]]
        return self._events[events]


def _content_length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)


async def main() -> None:
    server = await asyncio.start_server(Upstream().serve, "127.0.0.1", 0, backlog=1_000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
