"""A client that writes its requests byte by byte, for what no library would send."""

import socket
import struct
from typing import Self

from recorder.upstream import DEADLINE_S


class Wire:
    """A connection to a recorder."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, timeout=DEADLINE_S)
        self.received = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, body: bytes = b"", *headers: str, target: str = "/v1/messages", length: int | None = None) -> None:
        """Send the head of a POST, with as much of its body as is given."""
        length_header = f"Content-Length: {len(body) if length is None else length}"
        lines = [f"POST {target} HTTP/1.1", "Host: localhost", length_header, *headers, "", ""]
        self.send("\r\n".join(lines).encode() + body)

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def read_until(self, end: bytes) -> bytes:
        """Wait until these bytes have come, and return all that has come so far."""
        while end not in self.received:
            got = self._socket.recv(1 << 16)
            assert got, f"the connection has ended after {self.received!r}"
            self.received += got
        return self.received

    def read_to_end(self) -> bytes:
        """Wait for the end of the connection, and return all that has come."""
        try:
            while got := self._socket.recv(1 << 16):
                self.received += got
        except ConnectionResetError:
            pass
        return self.received

    def close_sending(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def close(self) -> None:
        self._socket.close()
