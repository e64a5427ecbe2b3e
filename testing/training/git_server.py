"""A git server over HTTP for tests: `git http-backend`, with a password if one is given.

usage: git_server.py ADDRESS PORT FOLDER [USER:PASSWORD]

Repositories under FOLDER/private need the password. A request for FOLDER/slow/NAME waits until the
file FOLDER/go exists.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer

REALM = 'Basic realm="git"'


class Handler(BaseHTTPRequestHandler):
    """One request of git's smart HTTP protocol, which `git http-backend` answers as a CGI program."""

    folder: Path
    credentials = ""

    def answer(self) -> None:
        """Answers a GET or a POST."""
        path, _, query = self.path.partition("?")
        expected = "Basic " + base64.b64encode(self.credentials.encode()).decode()
        if path.startswith("/private/") and self.headers.get("Authorization") != expected:
            self.send_response(401)
            self.send_header("WWW-Authenticate", REALM)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        while path.startswith("/slow/") and not (self.folder / "go").exists():
            time.sleep(0.1)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        environment = {
            **os.environ, "GIT_PROJECT_ROOT": str(self.folder), "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)), "REMOTE_ADDR": self.client_address[0],
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        done = subprocess.run(["git", "http-backend"], input=body, capture_output=True,
                              env=environment)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class Server(ThreadingHTTPServer):
    """Does not ask for the name of its address, which may take long."""

    def server_bind(self) -> None:
        TCPServer.server_bind(self)


def main(address: str, port: int, folder: Path, credentials: str = "") -> None:
    """Serves until the process ends."""
    for method in ("GET", "POST"):
        setattr(Handler, f"do_{method}", Handler.answer)
    Handler.folder = folder
    Handler.credentials = credentials
    server = Server((address, port), Handler)
    print("serving", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:])
