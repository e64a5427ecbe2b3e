#!/usr/bin/python3
"""A stand-in for TensorBoard: it has its options, and shows files of the folder with the logs.

GET /FILE is a file of the folder. GET /environment is NVIDIA_VISIBLE_DEVICES. GET /write is the error
of a write to the folder. POST / returns the body.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer


class Handler(BaseHTTPRequestHandler):
    """One request. Connections are kept."""

    folder: Path

    def show(self) -> None:
        """Answers a GET."""
        name = self.path.lstrip("/")
        try:
            if name == "environment":
                self._say(os.environ.get("NVIDIA_VISIBLE_DEVICES", "").encode())
            elif name == "write":
                (self.folder / "written").touch()
                self._say(b"written")
            else:
                self._say((self.folder / name).read_bytes())
        except OSError as error:
            self._say(str(error.strerror).encode())

    def echo(self) -> None:
        """Answers a POST."""
        self._say(self.rfile.read(int(self.headers["Content-Length"])))

    def _say(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class Server(ThreadingHTTPServer):
    """Does not ask for the name of its address, which may take long."""

    def server_bind(self) -> None:
        TCPServer.server_bind(self)


def main() -> None:
    """Serves until the process ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logdir", type=Path, required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    setattr(Handler, "protocol_version", "HTTP/1.1")
    Handler.folder = options.logdir
    for method, answer in (("GET", Handler.show), ("POST", Handler.echo)):
        setattr(Handler, f"do_{method}", answer)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    Server((options.host, options.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
