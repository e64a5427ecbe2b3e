"""Takes the files of the tree apart: the texts that a person reads, and the code around them.

prose.py and vocabulary.py read the tree through this module. A text is a comment, a string or a
piece of a document. The code of a source is its file with every text blanked out.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# A line break that a program prints: `\n` in a string, or the end of a line in a raw string. A
# plain "\n" in a text is the end of a line in the file.
PRINTED_BREAK = "\v"
COMMENT, STRING, DOCUMENT = "comment", "string", "document"

TOPS = ("api", "cmake", "deploy", "docs", "gpusim", "guard", "simulator", "src", "testing", "tools",
        ".ci")
# What others wrote, what describes others' systems in their words, and data.
NOT_OURS = ("docs/research/", "testing/fixtures/", "testing/fuzz/corpus/", "api/kubelet/",
            "api/nri/", "testing/tidy/prose", "testing/tidy/vocabulary")
_LANGUAGES = {
    ".cpp": "c", ".hpp": "c", ".h": "c", ".c": "c", ".def": "c", ".inc": "c",
    ".py": "python", ".yaml": "yaml", ".md": "markdown", ".json": "json", ".cmake": "shell",
    ".patch": "patch", ".map": "shell",
}
_SHEBANG = re.compile(r"#!.*\b(?P<language>python3?|bash|sh)\b")

_QUOTED = r'"(?:[^"\\\n]|\\.)*"'
_PATTERNS = {language: re.compile(pattern, re.DOTALL | re.MULTILINE) for language, pattern in {
    "c": r'(?P<comment>//[^\n]*(?:\n[ \t]*//[^\n]*)*|/\*.*?\*/)'
         r'|(?P<raw>R"(?P<end>\w*)\(.*?\)(?P=end)")'
         rf'|(?P<string>{_QUOTED}(?:\s*{_QUOTED})*)'
         r"|(?P<other>^\s*#\s*include[^\n]*|'(?:[^'\\\n]|\\.[^'\n]*)')",
    "python": r'(?P<other>\A\#![^\n]*)'
              r'|(?P<comment>\#[^\n]*(?:\n[ \t]*\#[^\n]*)*|^[ \t]*""".*?""")'
              r'|(?P<raw>[rbfRBF]{0,2}(?P<end>"""|\'\'\').*?(?P=end))'
              r"|(?P<string>(?:[rbfRBF]{0,2}(?:" + _QUOTED + r"|'(?:[^'\\\n]|\\.)*')\s*)+)",
    "shell": r'(?P<other>\A\#![^\n]*)'
             r'|(?P<comment>(?:(?<=\s)|^)\#[^\n]*(?:\n[ \t]*\#[^\n]*)*)'
             r"|(?P<raw><<-?[ ]*'?(?P<end>\w+)'?[^\n]*\n.*?\n[ \t]*(?P=end)$)"
             r'|(?P<string>"(?:[^"\\]|\\.)*"|\'[^\']*\')',
    "yaml": r'(?P<comment>(?:(?<=\s)|^)\#[^\n]*(?:\n[ \t]*\#[^\n]*)*)',
    "json": rf'(?P<string>{_QUOTED})',
}.items()}


@dataclass(frozen=True)
class Text:
    """What a person reads at one place of a file."""
    line: int   # of its first line, from 1
    kind: str   # COMMENT, STRING or DOCUMENT
    words: str  # as it is read: without comment signs and quotes, with the file's line breaks


@dataclass(frozen=True)
class Source:
    """One file of the tree."""
    name: str           # its path from the root
    text: str           # the file
    texts: list[Text]   # what a person reads in it
    code: str           # the rest, on the same lines


def sources(root: Path) -> Iterator[Source]:
    """Every file under root that the project wrote, in the order of their paths."""
    for path in sorted([*_files(root), *root.glob("*.md"), *root.glob("CMakeLists.txt"),
                        *root.glob("dev")]):
        name = path.relative_to(root).as_posix()
        if name.startswith(NOT_OURS):
            continue
        if language := _language_of(path):
            yield take_apart(name, path.read_text(encoding="utf-8", errors="replace"), language)


def take_apart(name: str, text: str, language: str) -> Source:
    """The texts and the code of a file."""
    if language == "markdown":
        return Source(name, text, list(_paragraphs(text)), "")
    if language == "patch":  # the first lines describe it; the rest changes other files
        return Source(name, text, [Text(1, DOCUMENT, text.partition("\n---")[0])], "")
    texts: list[Text] = []
    code: list[str] = []
    done, line = 0, 1
    for found in _PATTERNS[language].finditer(text):
        line += text.count("\n", done, found.start())
        code += text[done:found.start()], re.sub(r"[^\n]+", " ", found.group())
        if found.lastgroup != "other":
            texts.append(_text(line, found))
        line += found.group().count("\n")
        done = found.end()
    code.append(text[done:])
    source = Source(name, text, texts, "".join(code))
    if language == "yaml":
        texts += _values(source.code)
    return source


def _files(root: Path) -> Iterator[Path]:
    for top in TOPS:
        for folder, folders, names in os.walk(root / top):
            folders[:] = [name for name in folders if not name.startswith((".", "__"))]
            yield from (Path(folder) / name for name in names)


def _language_of(path: Path) -> str | None:
    if path.suffix in _LANGUAGES:
        return _LANGUAGES[path.suffix]
    if path.name == "CMakeLists.txt":
        return "shell"
    if path.suffix:
        return None
    with path.open(encoding="utf-8", errors="replace") as file:
        shebang = _SHEBANG.match(file.readline(100))
    if shebang is None:
        return None
    return "python" if shebang["language"].startswith("python") else "shell"


def _text(line: int, found: re.Match[str]) -> Text:
    text = found.group()
    kinds = found.groupdict()
    if kinds.get("comment") is not None:
        signs = r'^\s*(?://+|/\*+|\*/|\*(?!\*)|#+|""")?[ ]?|\s*(?:\*/|""")?\s*$'
        lines = (re.sub(signs, "", part) for part in text.split("\n"))
        return Text(line, COMMENT, "\n".join(lines))
    if kinds.get("raw") is not None:
        inner = re.sub(r'^[^"\'(\n]*["\'(]+|[)"\']+$', "", text)
        return Text(line, STRING, inner.replace("\n", PRINTED_BREAK + "\n"))
    # Quotes around the parts of one string are not read; what the program puts into it is one word.
    inner = re.sub(r'[ ]?(?<!\\)"\s*[rbf]{0,2}"', lambda gap: (
        "\n" * gap.group().count("\n") or gap.group().partition('"')[0]), text)
    inner = re.sub(r"\{[^{}\"\n]*\}", "{}", inner.strip().strip("rbf").strip("\"'"))
    return Text(line, STRING, inner.replace("\\n", PRINTED_BREAK).replace('\\"', '"'))


def _paragraphs(text: str) -> Iterator[Text]:
    """Paragraphs, list items, headings and table cells; not what is between fences."""
    fenced = False
    paragraph: list[str] = []
    begin = 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        bare = line.strip()
        if bare.startswith("```"):
            fenced = not fenced
        starts = not bare or fenced or re.match(r"```|#|\||[-*] |\d+\. ", bare)
        if starts and paragraph:
            yield Text(begin, DOCUMENT, "\n".join(paragraph))
            paragraph = []
        if fenced or bare.startswith("```") or not bare:
            continue
        if bare.startswith("|"):
            yield from (Text(number, DOCUMENT, cell.strip()) for cell in bare.strip("|").split("|"))
            continue
        begin = begin if paragraph else number
        paragraph.append(bare)


def _values(code: str) -> Iterator[Text]:
    """The values of YAML; lines without a key go on with the value before them."""
    value: list[str] = []
    begin = 0
    for number, line in enumerate([*code.split("\n"), "end: "], 1):
        key = re.match(r"\s*(?:- )*[\w./\"'-]+:(?:\s+[>|][-+]?)?(?:\s|$)|\s*- |\s*$", line)
        if key and value:
            yield Text(begin, STRING, "\n".join(value))
            value = []
        begin = begin if value else number
        value.append(line[key.end():].strip() if key else line.strip())


def report(faults: Callable[[Path], Iterable[str]]) -> int:
    """Prints the faults of the tree, or of the folder that the command line names. Returns the exit
    status."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    found = list(faults(root))
    if found:
        print("\n".join(found))
    return 1 if found else 0
