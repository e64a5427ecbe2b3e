"""What a run's directory says of its cluster: the file cluster.json."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

_FILE = "cluster.json"


@dataclass(frozen=True, kw_only=True)
class ClusterState:
    """api_host and api_port: of the API server, for this machine. nodes: their names. kubernetes:
    the minor version. api_service: the ClusterIP of the API server, with Services. scheduler_port:
    of kube-scheduler's health and metrics, where this machine reaches them."""

    api_host: str
    api_port: int
    nodes: list[str]
    kubernetes: str
    api_service: str | None = None
    scheduler_port: int = 0

    def write(self, directory: Path) -> None:
        """Writes the file."""
        (directory / _FILE).write_text(json.dumps(dataclasses.asdict(self)))

    @staticmethod
    def read(directory: Path) -> "ClusterState":
        """Reads the file."""
        return ClusterState(**json.loads((directory / _FILE).read_text()))
