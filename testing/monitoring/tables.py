"""Makes docs/reference/metrics.md from the tables of metrics (*.def).

The page is written by python3 -m reference.pages (in testing/).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLES = {"The controller": "src/app/scheduler/observe/metrics.def",
          "The agent": "src/app/agent/observe/metrics.def",
          "The ledger": "src/app/ledger/metrics.def",
          "All of them": "src/app/metrics/process.def"}
REASONS = "src/domain/placement/unschedulable_reasons.def"
HEAD = """# Metrics

This page is generated from the tables by `python3 -m reference.pages` (in `testing/`); a test
compares it. The controller serves metrics on `/metrics`. Each agent serves them on its own port
(`--metrics-port`, on the address `--listen`: loopback by default). The ledger serves them on
`/metrics` of its Service. For alerts and a dashboard, see [operations.md](../operations.md).
"""
_METRIC = re.compile(r'^METRIC\((\w+), \w+, "([^"]+)", "([^"]+)"\)$', re.M)
_REASON = re.compile(r'^UNSCHEDULABLE_REASON\((\w+), "([^"]+)"\)$', re.M)


@dataclass(frozen=True)
class Metric:
    """A row of a table."""

    kind: str
    name: str
    help: str

    def series(self) -> Iterator[str]:
        """The names of its series in Prometheus."""
        if self.kind == "histogram":
            yield from (f"{self.name}_bucket", f"{self.name}_sum", f"{self.name}_count")
        else:
            yield self.name


def rows(table: str) -> list[Metric]:
    """The rows of one file. Every line that is not a comment must be a row."""
    text = (ROOT / table).read_text()
    found = [Metric(*match) for match in _METRIC.findall(text)]
    lines = [line for line in text.splitlines() if line and not line.startswith("//")]
    if len(found) != len(lines):
        raise ValueError(f"{table}: {len(lines)} lines, but only {len(found)} of them are metrics")
    return found


def series() -> set[str]:
    """The names of all our series in Prometheus."""
    return {name for table in TABLES.values() for metric in rows(table)
            for name in metric.series()}


def reasons() -> list[tuple[str, str]]:
    """The values of the label reason of tessera_pending_pods, and their meaning."""
    return _REASON.findall((ROOT / REASONS).read_text())


def document() -> str:
    """The text of docs/reference/metrics.md."""
    out = [HEAD]
    for title, table in TABLES.items():
        out.append(f"\n## {title}\n\n`{table}`\n\n| metric | kind | what |\n|---|---|---|\n")
        out += [f"| `{m.name}` | {m.kind.removeprefix('gpu_')} | {m.help} |\n"
                for m in rows(table)]
    out.append(f"\n## The label `reason` of `tessera_pending_pods`\n\n`{REASONS}`: of the reasons "
               "of all nodes,\nthe one that is closest to running.\n\n"
               "| reason | meaning |\n|---|---|\n")
    out += [f"| `{name}` | {meaning} |\n" for name, meaning in reasons()]
    out.append("| `not_refused` | no filter response has refused it: kube-scheduler has sent no "
               "filter request, or has found a node |\n")
    return "".join(out)


if __name__ == "__main__":
    print(document(), end="")
