"""The rules of the tree that a compiler does not check: layers, folders, purity, sizes.

usage: layers.py [ROOT]    prints one line per fault, exit status 1 when there is one.

Layers (ARCHITECTURE.md): base -> domain -> wire -> ports -> adapters | app -> programs. A file includes
its own layer and what ALLOWED names. domain/ and wire/ are pure: time, randomness and everything else
from outside come in as values. Folders (ARCHITECTURE.md) include each other without a cycle, and none
has more than MAX_FOLDER files, where a header and its source count once.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ALLOWED: dict[str, set[str]] = {
    "base": set(),
    "domain": {"base"},
    "wire": {"base", "domain"},
    "ports": {"base", "domain"},
    "adapters": {"base", "domain", "wire", "ports"},
    "app": {"base", "domain", "wire", "ports"},
    "programs": {"base", "domain", "wire", "ports", "adapters", "app"},
}
PURE = {"domain", "wire"}
# Beside the layers: each stands on api/ and libc. Their tests may use each other.
HOUSES = {"guard", "gpusim"}
TEST_FOLDERS = {"test_support", "hardware"}
# tessera-sim: it uses every layer, and no layer uses it.
SIMULATOR = "simulator"
IMPURE = re.compile(
    r"<(thread|mutex|shared_mutex|condition_variable|future|atomic|stop_token|semaphore|filesystem|"
    r"fstream|iostream|chrono|ctime|random|csignal|unistd\.h|fcntl\.h|netdb\.h|pthread\.h|poll\.h|"
    r"sys/\w+\.h|netinet/\w+\.h|arpa/\w+\.h)>")
IMPURE_CALL = re.compile(r"\b(getenv|system_clock|steady_clock|std::time|gettimeofday|rand)\b\s*[(:]?")
LOCKED = re.compile(r"\bstd::(mutex|scoped_lock|unique_lock|lock_guard|condition_variable)\b")
MUTEX = "src/base/mutex.hpp"
CLOCKS = {"guard/region/clock.cpp", "guard/inject/kernel_clock.cpp"}
CLOCK_CALL = re.compile(r"\b(clock_gettime|gettimeofday|time)\s*\(|_clock::now")
MAX_COLUMNS = 100
MAX_FUNCTION = 70
MAX_FILE = 600
MAX_PROGRAM = 150
MAX_FOLDER = 20
# Counts as one folder here: a CUDA context owns memory, pools, streams and graphs, and each of these
# knows its context.
ONE_ROOM = "gpusim/cuda/"
PROGRAMS = {"tessera.cpp", "tessera_agent.cpp", "tessera_controller.cpp", "tessera_run.cpp",
            "tessera_sim.cpp", "tessera_mpi_shell.cpp", "tessera_ledger.cpp"}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"][^>"]+[>"])')
# A brace after such a statement opens no function.
NOT_A_FUNCTION = re.compile(r"^\s*(namespace|struct|class|enum|union|extern|#|switch|if|for|while|"
                            r"else|do|try|catch|return)\b|=\s*$")
# What may hold braces that mean nothing.
LITERAL = re.compile(r'R"\(.*?\)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'|//[^\n]*', re.DOTALL)
TEST = re.compile(r"_(test|fuzz|bench)\.(cpp|hpp)$")


def faults(root: Path) -> Iterator[str]:
    """Every fault under root, as PATH:LINE: SENTENCE."""
    for path in sorted(_sources(root)):
        name = path.relative_to(root)
        lines = path.read_text(encoding="utf-8").split("\n")
        for number, sentence in _faults_of(name, lines):
            yield f"{name}:{number}: {sentence}"
    yield from _folders(root)


def _sources(root: Path) -> Iterator[Path]:
    for top in ("src", "guard", "gpusim", "simulator", "testing"):
        for suffix in ("*.cpp", "*.hpp", "*.h", "*.def", "*.inc"):
            yield from (root / top).rglob(suffix)


def _faults_of(name: Path, lines: list[str]) -> Iterator[tuple[int, str]]:
    yield from _sizes(name, lines)
    code = _without_comments(lines)
    if name.parts[0] == "src" and len(name.parts) > 2:
        yield from _layers(name, code)
    if name.parts[0] in HOUSES:
        yield from _houses(name, code)
    if name.suffix in (".cpp", ".hpp"):
        yield from _functions(lines)


def _layers(name: Path, code: list[str]) -> Iterator[tuple[int, str]]:
    layer = name.parts[1]
    if layer not in ALLOWED:
        yield 1, f"src/{layer} is no layer; the layers are {', '.join(ALLOWED)}."
        return
    is_test = TEST.search(name.name) is not None
    for number, line in enumerate(code, 1):
        include = INCLUDE.match(line)
        if not is_test and name.as_posix() != MUTEX and LOCKED.search(LITERAL.sub("", line)):
            yield number, "use Mutex and MutexLock of base/mutex.hpp, which clang can check."
        if include is None:
            if layer in PURE and not is_test and IMPURE_CALL.search(LITERAL.sub("", line)):
                yield number, f"src/{layer} is pure: clocks, environment and randomness come in as values."
            continue
        target = include.group(1)
        if layer in PURE and not is_test and IMPURE.search(target):
            yield number, (f"src/{layer} is pure: it may not include {target}; threads, clocks, files "
                           "and sockets belong to app and adapters.")
        if target.startswith("<"):
            continue
        other = target.strip('"').split("/")[0]
        if layer in PURE and target == '"base/mutex.hpp"' and not is_test:
            yield number, f"src/{layer} is pure: it has no threads, so no mutex."
        if other == "testing" and not is_test:
            yield number, "src includes nothing of testing/ but in tests."
        if other == SIMULATOR:
            yield number, "src includes nothing of simulator/."
        if other in HOUSES and layer != "adapters" and not is_test:
            yield number, f"src/{layer} may not include {target}: only adapters know a house."
        if other in ALLOWED and other != layer and other not in ALLOWED[layer]:
            yield number, (f"src/{layer} may not include {target}: it stands on "
                           f"{', '.join(sorted(ALLOWED[layer])) or 'nothing'} alone.")


def _houses(name: Path, code: list[str]) -> Iterator[tuple[int, str]]:
    house = name.parts[0]
    is_test = TEST.search(name.name) is not None or not TEST_FOLDERS.isdisjoint(name.parts)
    foreign = {*ALLOWED, "src", SIMULATOR} | (set() if is_test else HOUSES - {house})
    for number, line in enumerate(code, 1):
        include = INCLUDE.match(line)
        if include is None:
            if house == "guard" and not is_test and name.as_posix() not in CLOCKS \
                    and CLOCK_CALL.search(LITERAL.sub("", line)):
                yield number, "use monotonic_ns() of region/clock.hpp: a program can shift libc's clock."
            continue
        if include.group(1).strip('<>"').split("/")[0] in foreign:
            yield number, f"{house} is a house of its own: it may not include {include.group(1)}."


def _sizes(name: Path, lines: list[str]) -> Iterator[tuple[int, str]]:
    count = len(lines) - (1 if lines and lines[-1] == "" else 0)
    if count > MAX_FILE:
        yield count, f"{count} lines: a file has one idea and at most {MAX_FILE} lines."
    is_program = name.parts[0] in ("src", SIMULATOR) and name.name in PROGRAMS
    if is_program and count > MAX_PROGRAM:
        yield count, f"{count} lines: a program has at most {MAX_PROGRAM}; the rest belongs to app."
    if name.suffix in (".def", ".inc"):
        return
    raw_string = False
    for number, line in enumerate(lines, 1):
        raw_string = ('R"' in line or raw_string) and ')"' not in line.split('R"')[-1]
        # An include, or text that must not be changed, has nowhere to break.
        fixed = line.lstrip().startswith("#include") or 'R"' in line or raw_string
        if len(line) > MAX_COLUMNS and not fixed:
            yield number, f"{len(line)} columns: a line has at most {MAX_COLUMNS}."


def _folders(root: Path) -> Iterator[str]:
    """Folders that are too large, and cycles among them; tests count for neither."""
    files: dict[str, set[str]] = defaultdict(set)
    edges: dict[str, dict[str, str]] = defaultdict(dict)  # folder -> folder -> an include
    for path in _sources(root):
        name = path.relative_to(root)
        if name.parts[0] not in ("src", SIMULATOR, *HOUSES) or TEST.search(name.name) \
                or not TEST_FOLDERS.isdisjoint(name.parts):
            continue
        folder = name.parent.as_posix()
        files[folder].add(name.stem)
        for line in path.read_text(encoding="utf-8").split("\n"):
            found = INCLUDE.match(line)
            if found is None or found.group(1).startswith("<"):
                continue
            other = found.group(1).strip('"')
            other = other if other.split("/")[0] in (SIMULATOR, *HOUSES) else f"src/{other}"
            target = Path(other).parent.as_posix()
            if target != folder and (root / target).is_dir():
                edges[folder].setdefault(target, f"{name}: {other}")
    for folder, stems in sorted(files.items()):
        if len(stems) > MAX_FOLDER:
            yield f"{folder}:0: {len(stems)} files: a folder has one topic and at most {MAX_FOLDER}."
    for folder in sorted(edges):
        for target, include in sorted(edges[folder].items()):
            in_one_room = folder.startswith(ONE_ROOM) and target.startswith(ONE_ROOM)
            if folder < target and not in_one_room and _reaches(edges, target, folder):
                yield f"{folder}:0: a cycle with {target} ({include})."


def _reaches(edges: dict[str, dict[str, str]], start: str, goal: str) -> bool:
    seen, left = {start}, [start]
    while left:
        for target in edges.get(left.pop(), {}):
            if target == goal:
                return True
            if target not in seen:
                seen.add(target)
                left.append(target)
    return False


def _functions(lines: list[str]) -> Iterator[tuple[int, str]]:
    text = LITERAL.sub(lambda match: re.sub(r"[^\n]", "_", match.group()), "\n".join(lines))
    opened: list[tuple[int, bool]] = []  # where each open block's statement begins; is it a function?
    statement = 0
    for match in re.finditer(r"[{};]", text):
        at = match.start()
        if match.group() == "{":
            head = text[statement:at]
            inside = any(is_function for _, is_function in opened)
            is_function = not inside and "(" in head and NOT_A_FUNCTION.search(head.strip()) is None
            first = statement + len(head) - len(head.lstrip())
            opened.append((text.count("\n", 0, first) + 1, is_function))
        elif match.group() == "}" and opened:
            start, is_function = opened.pop()
            count = text.count("\n", 0, at) + 2 - start
            if is_function and count > MAX_FUNCTION:
                yield start, (f"{count} lines: a function fits on a screen, at most "
                              f"{MAX_FUNCTION} lines.")
        statement = at + 1


def _without_comments(lines: list[str]) -> list[str]:
    return [re.sub(r"//.*", "", line) for line in lines]


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    found = list(faults(root))
    print("\n".join(found) if found else "layers: no faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
