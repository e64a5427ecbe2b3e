"""Calls a function again and again while the test goes on."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def repeated(call: Callable[[], None], pause: float) -> Iterator[None]:
    """Calls the function in another thread until the end of the context, with pauses of that many
    seconds."""
    stop = threading.Event()

    def go_on() -> None:
        while not stop.wait(pause):
            call()
    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
