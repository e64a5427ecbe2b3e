"""A small client of the API server, for polling: it starts no process per request.

Thread-safe: each call has its own connection and a deadline.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kube.errors import KubeError

SECONDS = 10.0


class ApiError(KubeError):
    """A response that is not 2xx. code: the HTTP status; 0 if there was no response."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Api:
    """Sends requests with a client certificate."""

    def __init__(self, host: str, port: int, ca: Path, certificate: Path, key: Path) -> None:
        self.host = host
        self.port = port
        self._context = ssl.create_default_context(cafile=str(ca))
        self._context.load_cert_chain(certificate, key)

    def text(self, method: str, path: str, body: Any = None,
             content_type: str = "application/json") -> str:
        """The body of a 2xx response. Raises ApiError otherwise."""
        connection = self._connection()
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Content-Type": content_type})
            response = connection.getresponse()
            text = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise ApiError(0, f"{method} {path}: no response from the API server ({error})"
                           ) from error
        finally:
            connection.close()
        if response.status >= 300:
            raise ApiError(response.status, f"{method} {path}: {response.status} {text.strip()}")
        return text

    def json(self, method: str, path: str, body: Any = None,
             content_type: str = "application/json") -> Any:
        """Like `text`, parsed as JSON."""
        return json.loads(self.text(method, path, body, content_type))

    @contextlib.contextmanager
    def watch(self, path: str) -> Iterator[Iterator[Any]]:
        """The events of a watch, as they come. Raises ApiError if none comes for SECONDS."""
        connection = self._connection()
        with contextlib.closing(connection):
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                if response.status >= 300:
                    raise ApiError(response.status, f"GET {path}: {response.status}")
                yield map(json.loads, response)
            except (OSError, http.client.HTTPException) as error:
                raise ApiError(0, f"GET {path}: no event from the API server ({error})") from error

    def ok(self, path: str) -> bool:
        """Whether a GET request gets a 2xx response now."""
        try:
            self.text("GET", path)
        except KubeError:
            return False
        return True

    def _connection(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self.host, self.port, timeout=SECONDS,
                                           context=self._context)
