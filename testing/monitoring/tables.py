"""The tables of metrics (*.def), as docs/metrics.md shows them.

usage: python3 -m monitoring.tables > ../docs/metrics.md    (in testing/)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLES = {"The controller": "src/app/scheduler/metrics.def",
          "The agent": "src/app/agent/metrics.def",
          "Both": "src/app/metrics/process.def"}
OBSTACLES = "src/domain/placement/obstacles.def"
HEAD = """# Metrics

Made from the tables by `python3 -m monitoring.tables` (in `testing/`); a test compares. The controller serves them on
its `/metrics`, each agent on a port of its own (`--metrics-port`, on `--listen`: loopback by default). Alerts and a
dashboard: [operations.md](operations.md).
"""
_METRIC = re.compile(r'^METRIC\((\w+), \w+, "([^"]+)", "([^"]+)"\)$', re.M)
_OBSTACLE = re.compile(r'^OBSTACLE\((\w+), "([^"]+)"\)$', re.M)


@dataclass(frozen=True)
class Metric:
    """A row of a table."""

    kind: str
    name: str
    help: str

    def series(self) -> Iterator[str]:
        """The names under which Prometheus has it."""
        if self.kind == "histogram":
            yield from (f"{self.name}_bucket", f"{self.name}_sum", f"{self.name}_count")
        else:
            yield self.name


def rows(table: str) -> list[Metric]:
    """The rows of one file; every line of it that is no comment must be one."""
    text = (ROOT / table).read_text()
    found = [Metric(*match) for match in _METRIC.findall(text)]
    lines = [line for line in text.splitlines() if line and not line.startswith("//")]
    if len(found) != len(lines):
        raise ValueError(f"{table}: {len(lines)} lines, and {len(found)} of them are metrics")
    return found


def series() -> set[str]:
    """Every name that Prometheus may have of us."""
    return {name for table in TABLES.values() for metric in rows(table)
            for name in metric.series()}


def obstacles() -> list[tuple[str, str]]:
    """The values of the label reason of tessera_pending_pods, and their meaning."""
    return _OBSTACLE.findall((ROOT / OBSTACLES).read_text())


def document() -> str:
    """docs/metrics.md."""
    out = [HEAD]
    for title, table in TABLES.items():
        out.append(f"\n## {title}\n\n`{table}`\n\n| metric | kind | what |\n|---|---|---|\n")
        out += [f"| `{m.name}` | {m.kind.removeprefix('card_')} | {m.help} |\n"
                for m in rows(table)]
    out.append(f"\n## The label `reason` of `tessera_pending_pods`\n\n`{OBSTACLES}`: of all nodes' "
               "refusals, the one that is nearest to its end.\n\n| reason | meaning |\n|---|---|\n")
    out += [f"| `{name}` | {meaning} |\n" for name, meaning in obstacles()]
    out.append("| `not_refused` | no filter of ours has refused it: kube-scheduler has not asked, "
               "or has found it a node |\n")
    return "".join(out)


if __name__ == "__main__":
    print(document(), end="")
