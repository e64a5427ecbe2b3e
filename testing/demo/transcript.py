"""Compares the transcript of a page, such as docs/tour.md, with what a run printed. Pure."""

from __future__ import annotations

import difflib
import itertools
import re

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

# What differs from run to run: (expression, what both sides show instead). Everything else must be
# equal. GPU UUIDs are: gpusim derives them from the node's name.
_MASKS = tuple((re.compile(expression), instead) for expression, instead in (
    (r"\b(tessera-agent)-[a-z0-9]{5}\b", r"\1-RANDOM"),
    (r"\b(tessera-controller)-[a-z0-9]{8,10}-[a-z0-9]{5}\b", r"\1-RANDOM"),
    (r'"pod":"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"', '"pod":"UID"'),
    (r"\b10\.\d+\.\d+\.\d+\b", "ADDRESS"),
    (r"(?<= )(\d+m(\d+s)?|\d+s)\b", "AGE"),
    (r"^LAST DEPLOYED: .*", "LAST DEPLOYED: TIME"),
    (r"^Done in \d+ s\.$", "Done in SECONDS s."),
    # The pods of the second scaling start in any order, so any of them is on the second GPU.
    (r"^(node-\S+ +\d+ +default/binpack-1)-\d ", r"\1-N "),
    # TIME% is the column before the last one. It is "-" until the GPU's time is shared out.
    (r"^(node-\S+ +\d+ +\S+/\S+ .*) (\d+|-) +(\d+)$", r"\1 TIME \3"),
    # The width of a column or a line depends on the values above.
    (r"-{20,}", "----"),
    (r" {2,}", " "),
))

# A container or a process in the table of `tessera top`. The agent reports them in any order.
_SHARE_ROW = re.compile(r"node-\S+ \d+ \S+/\S+ ")


def of_page(markdown: str) -> str:
    """The transcript of the page: its only fenced block without a language. ValueError if the page
    has none, or several."""
    blocks = [text for language, text in _FENCED.findall(markdown) if not language]
    if len(blocks) != 1:
        raise ValueError(f"the page has {len(blocks)} fenced blocks without a language, not 1")
    return str(blocks[0])


def stable(text: str) -> list[str]:
    """The lines of a transcript, without what differs from run to run."""
    lines: list[str] = []
    for is_row, group in itertools.groupby(map(_masked, text.strip().split("\n")),
                                           lambda line: _SHARE_ROW.match(line) is not None):
        lines += sorted(group) if is_row else group
    return lines


def differences(page: str, run: str) -> list[str]:
    """The lines in which two transcripts differ, as a unified diff. Empty if they agree."""
    return list(difflib.unified_diff(stable(page), stable(run), "docs/tour.md", "this run",
                                     lineterm=""))


def _masked(line: str) -> str:
    line = line.rstrip()
    for expression, instead in _MASKS:
        line = expression.sub(instead, line)
    return line
