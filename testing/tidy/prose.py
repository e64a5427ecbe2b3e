"""Plain English (STYLE.md, Language): words that are not used, short sentences, narrow documents.

usage: prose.py [ROOT]    prints one line per fault, exit status 1 when there is one.

Three rules:

- BANNED: words and phrases that are not used, in comments, strings and documents. What is between
  `backquotes` is code.
- A sentence has at most MOST_WORDS words. It ends at a full stop, a question mark or an exclamation
  mark, at an empty line, and at the next list item, table cell or heading. In a string, a printed
  line break before an indentation and the gap between two columns end one, too.
- A document (Markdown) has at most MOST_COLUMNS columns. Rows of tables, fenced text and addresses
  have nowhere to break.

An exception is a row of EXCEPTIONS: where, which words, and the reason. prose_test.py fails if a
row has no use any more. Rewrite the text if you can: exceptions are for names and test data.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import texts

MOST_WORDS = 40
MOST_COLUMNS = 100

# After one of these, "who" is plain English: "a user who may read Secrets".
PEOPLE = ("user", "users", "people", "person", "administrator", "administrators", "tenant",
          "tenants", "reader", "readers", "those", "anyone", "everyone", "scientist", "scientists",
          "team", "teams", "owner", "owners", "author", "authors", "attacker")
NOT_PEOPLE = "".join(rf"(?<!\b{word} )" for word in PEOPLE)

# (expression, what to write)
BANNED = (
    (r"anew", "again, or new"),
    (r"so (?:long|many) (?!as\b)\w+", "the number, or a duration"),
    (r"(?:is|are|be|been|was|were) told", "receives, or is reported"),
    (r"mend(?:s|ed|ing)?", "repair, or reconcile"),
    (r"go(?:es|ing)? past|went past|gone past", "bypass, or exceed"),
    (r"com(?:es?|ing) to nothing|came to nothing", "fails"),
    (r"shall", "must"),
    (r"whose it is", "its owner"),
    (r"such ones?", "name them"),
    (r"of one's own|one's own", "its"),
    (r"stand(?:s|ing)? in the way|stood in the way", "blocks, or prevents"),
    (r"in vain", "without success"),
    (r"(?:a|the|any|no|this|that) lack(?! of\b)", "say what is missing"),
    (r"lack of", "say what is missing"),
    (r"(?:leases?|tokens?|certificates?) ends?", "expires"),
    (r"(?<!soon )(?<!far )(?<!long )as it is(?=[.,;:)]|$| and\b| now\b)", "unchanged"),
    (r"whoever|whom|whomever", "name the actor"),
    (NOT_PEOPLE + r"who", "name the actor"),
    (r"nobody|somebody|anybody", "name the program or the person"),
    (r"he|him|his|himself|she|hers|herself", "it, its"),
)


@dataclass(frozen=True)
class Allowed:
    """A fault that is none."""
    path: str    # where: a regular expression for the start of a path
    words: str   # a regular expression for the banned words, or in the long sentence
    reason: str


EXCEPTIONS = (
    Allowed("guard/inject/evasion_test.cpp", "nobody", "Debian's account without rights"),
    Allowed("src/app/scheduler/gang/gangs_test.cpp", "gang a waits for its pods",
            "the product joins the reasons of several pods with semicolons"),
)

ANY_BANNED = re.compile(r"\b(?:" + "|".join(f"(?:{words})" for words, _ in BANNED) + r")\b",
                        re.IGNORECASE)
ROWS = tuple((re.compile(rf"\b(?:{words})\b", re.IGNORECASE), instead) for words, instead in BANNED)
SENTENCE_END = re.compile(
    r"(?<=[.?!])\s+|(?<=[.?!][)\"'*_`])\s+|\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|(?<=\S)[ ]{2,}")
PRINTED_END = re.compile(SENTENCE_END.pattern + r"|\v(?=\W)|[ \t]{2,}")


@dataclass(frozen=True)
class Fault:
    """One place of the tree."""
    name: str
    line: int
    words: str     # what is wrong, as the file has it
    sentence: str  # what to do

    def __str__(self) -> str:
        return f"{self.name}:{self.line}: {self.sentence}"

    def is_allowed_by(self, allowed: Allowed) -> bool:
        return bool(re.match(allowed.path, self.name) and re.search(allowed.words, self.words))


def faults(root: Path) -> Iterator[str]:
    """Every fault under root that is no exception, as PATH:LINE: SENTENCE."""
    return (str(fault) for fault in all_faults(root) if not is_exception(fault))


def is_exception(fault: Fault) -> bool:
    return any(fault.is_allowed_by(allowed) for allowed in EXCEPTIONS)


def all_faults(root: Path) -> Iterator[Fault]:
    """With the exceptions."""
    for source in texts.sources(root):
        for text in source.texts:
            plain = _without_code(text.words)
            yield from _banned(source.name, text.line, plain)
            yield from _long(source.name, text, plain)
        if source.name.endswith(".md"):
            yield from _wide(source.name, source.text)


def _without_code(words: str) -> str:
    """Code is one word, and of a link only its text is read. Line breaks stay where they are."""
    def blank(found: re.Match[str]) -> str:
        return "`" + "\n" * found.group().count("\n")
    return re.sub(r"(?<=\])\([^()]*\)", lambda found: "\n" * found.group().count("\n"),
                  re.sub(r"`[^`]*`", blank, words))


def _banned(name: str, line: int, plain: str) -> Iterator[Fault]:
    one_line = re.sub(r"\s", " ", plain)  # a phrase may be wrapped
    if not ANY_BANNED.search(one_line):
        return
    for row, instead in ROWS:
        for found in row.finditer(one_line):
            yield Fault(name, line + plain.count("\n", 0, found.start()), found.group(),
                        f"\"{found.group()}\": write {instead}.")


def _long(name: str, text: texts.Text, plain: str) -> Iterator[Fault]:
    if plain.count(" ") + plain.count("\n") < MOST_WORDS:
        return
    end = PRINTED_END if text.kind == texts.STRING else SENTENCE_END
    begin = 0
    for sentence in end.split(plain):
        at = plain.index(sentence, begin)
        begin = at + len(sentence)
        count = sum(1 for word in sentence.split() if re.search(r"[A-Za-z0-9`]", word))
        if count > MOST_WORDS:
            yield Fault(name, text.line + plain.count("\n", 0, at), sentence,
                        f"a sentence of {count} words: at most {MOST_WORDS}.")


def _wide(name: str, text: str) -> Iterator[Fault]:
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        fenced ^= line.strip().startswith("```")
        if fenced or line.lstrip().startswith("|"):
            continue
        if len(re.sub(r"\S*://\S*", "", line)) > MOST_COLUMNS:
            yield Fault(name, number, line,
                        f"{len(line)} columns: a document has at most {MOST_COLUMNS}.")


if __name__ == "__main__":
    sys.exit(texts.report(faults))
