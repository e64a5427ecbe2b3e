"""The words that the project uses and those that it does not (docs/internals/glossary.md).

usage: vocabulary.py [ROOT]    prints one line per word that is not to be used, exit status 1 when
there is one.

WORDS has a row for each concept: the word to write, and the words that it replaced. They are looked
for in identifiers, comments, strings, documents and file names:

- `parts`: words of an identifier. `free_cards` and `FreeCards` have the word `cards`. In texts,
  only names of several words are taken apart (`--free-cards`): a text may use the plain word.
- `identifiers`: whole identifiers, for words with lawful uses. In texts, as above.
- `phrases`: regular expressions for texts, with word boundaries.
- `within`: the folders where a word has the private meaning; without it, everywhere.

A word with lawful uses (turn, mark, gate) is banned by a whole identifier, by a phrase around it,
or within a folder. If a lawful use remains, add it to EXCEPTIONS with its reason.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import texts


@dataclass(frozen=True)
class Word:
    """Words that are not used, and what is written instead."""
    instead: str
    parts: tuple[str, ...] = ()        # lower case
    identifiers: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()      # upper and lower case are the same
    within: tuple[str, ...] = ()


WORDS = (
    # Users' words.
    Word("GPU", parts=("card", "cards"), phrases=(r"cards?",)),
    Word("guarantee", phrases=(r"(?:is|are|be|was|were) sure of",)),
    Word("limit", parts=("ceiling", "ceilings"), phrases=(r"ceilings?",)),
    Word("allocated, used", identifiers=("Hold", "held", "cores_held", "count_holds", "heldBytes"),
         within=("src/domain", "src/app/scheduler", "src/app/cli", "src/wire", "simulator")),
    Word("enforce", identifiers=("Holding",), within=("src",)),
    Word("enforce", identifiers=("ShareHolder", "HeldShare", "ShareKeeper", "LimitFollower"),
         phrases=(r"(?:holds?|held) (?:(?:a|the|its|each|every) )?(?:container|tenant|pod|process)"
                  r"(?:s|es)? to (?:a|the|its|their) \w+",)),
    Word("over_limit", identifiers=("excess",), within=("src/domain", "src/app", "src/wire")),
    Word("bypass", parts=("evader", "evaders"),
         phrases=(r"evaders?", r"(?:go(?:es|ing)?|went|gone) past")),
    Word("ns, namespace", identifiers=("space", "name_space"), within=("src", "simulator")),
    Word("GPU affinity", parts=("company", "mate", "mates"), within=("src/app", "src/wire")),
    Word("anti_affinity", identifiers=("apart",), within=("src",)),
    Word("gpu-anti-affinity, gpu-affinity",
         identifiers=("kGpuApart", "kGpuTogether"), phrases=(r"gpu-apart", r"gpu-together"),
         within=("src", "simulator", "testing", "deploy", "docs")),
    Word("gpu-topology", identifiers=("kGpuLinks",), phrases=(r"gpu-links",),
         within=("src", "simulator", "testing", "deploy", "docs")),
    Word("resize-request", phrases=(r"tessera\.dev/resize(?![-\w])",),
         within=("src", "simulator", "testing", "deploy", "docs")),
    Word("TopologyGroup", parts=("island", "islands"), phrases=(r"islands?",)),
    Word("request", parts=("wish", "wishes"), phrases=(r"wish(?:es|ed)?",)),
    Word("unknown annotation", parts=("slip", "slips"), phrases=(r"slips?",)),

    # Scheduling.
    Word("AssignedPod", identifiers=("Tenant", "TenantPtr"),
         within=("src", "simulator", "testing")),
    Word("uncertain", identifiers=("in_doubt", "InDoubt"), phrases=(r"in doubt",)),
    Word("unobserved", identifiers=("unseen",), within=("src/app/scheduler", "src/domain")),
    Word("request", parts=("ask",), within=("src",)),
    Word("PodInfo", identifiers=("PodFacts",)),
    Word("Snapshot, NodeInfo", identifiers=("ClusterView", "NodeView")),
    Word("ClusterCache", identifiers=("Keeper", "keeper")),
    Word("Informers", identifiers=("Feed", "feed", "Trouble", "trouble"),
         within=("src", "simulator", "testing")),
    Word("score", parts=("rater", "raters", "rating", "ratings"),
         within=("src", "simulator", "testing")),
    Word("PolicySet", identifiers=("Placements",)),
    Word("FitError, UnschedulableReason", parts=("misfit", "obstacle", "obstacles"),
         phrases=(r"misfits?",)),
    Word("Diagnosis", identifiers=("Refusals",), within=("src/domain", "src/app")),
    Word("Assignment, NodeGpus, Preemptor", identifiers=("Fit", "Offer", "Asker"), within=("src",)),
    Word("SelfPreemption", identifiers=("OwnPreemption", "own_preemption")),
    Word("UnschedulablePods", identifiers=("RefusedPods", "refused_pods")),
    Word("evicted", phrases=(r"(?:pods?|victims?|tasks?) (?:that )?ends? for", r"end a victim")),
    Word("reservation", identifiers=("PromisedRooms", "promised_rooms", "GangRooms", "gang_rooms")),
    Word("reservation", parts=("rooms",), within=("src/app/scheduler",)),
    Word("reservation", identifiers=("promised", "Promise", "Promises")),
    Word("reservation", identifiers=("Room", "room"),
         within=("src/app/scheduler/self_preemption", "src/app/scheduler/gang")),
    Word("reserve_node", identifiers=("promise",), within=("src/domain",)),
    Word("reservation", phrases=(r"reserv\w+ (?:(?:a|the|its|their|some) )?rooms?",
                                 r"rooms? (?:is|are|was|were) (?:reserved|promised|kept)",
                                 r"promised rooms?")),
    Word("GpuConstraints", parts=("admission",), within=("src/domain/placement",)),
    Word("ClusterDump", identifiers=("ClusterSnapshot", "cluster_snapshot")),
    Word("StaleSnapshotRetry", identifiers=("SecondLook", "second_look"),
         phrases=(r"second looks?",)),
    Word("predicted", parts=("foreseen",), phrases=(r"foreseen",)),
    Word("reconcile", identifiers=("settle", "settle_unconfirmed", "bind_settled", "kDoubt"),
         within=("src", "simulator", "testing", "docs", "ARCHITECTURE.md")),
    Word("reconcile",
         phrases=(r"(?:bind|binding|reservation)s? (?:is|are|was|were) (?:never )?settled",
                  r"settles? (?:a|the|its|each) (?:bind|reservation)")),
    Word("tessera_reconciliations_total", phrases=("tessera_repairs_total",)),
    Word("PlacementEngine", parts=("fleet", "fleets"), phrases=(r"fleets?",)),
    Word("NodeExplanation, PodExplanation", identifiers=("NodeStory", "PodStory", "story", "stories"),
         within=("src", "simulator")),
    Word("ListenConfig, RequestHead, AuthRequirement, authenticate",
         identifiers=("FrontDoor", "front_door", "Visitor", "visitor", "Need", "who_are_you")),
    Word("PlacedPod, DefragState", parts=("lodger", "lodgers"), identifiers=("Layout",),
         within=("src/domain/defrag",)),
    Word("random_tie_break", identifiers=("is_by_lot", "draw_of", "with_lot"), within=("src",)),

    # On a node.
    Word("container_edits, inject", parts=("handover",), identifiers=("hand_over",),
         within=("src", "docs")),
    Word("ContainerStartHandler", identifiers=("Gate", "gate"), within=("src/app/agent",)),
    Word("UnattributedPod", parts=("puzzle", "puzzles"), phrases=(r"puzzles?",)),
    Word("reported", identifiers=("told", "is_told", "told_", "note_told"), within=("src",)),
    Word("allocation unit", parts=("granule", "granules"), phrases=(r"granules?",)),
    Word("process slot", parts=("seat", "seats"), phrases=(r"seats?",)),
    Word("alive, pending free",
         identifiers=("lived_in", "is_lived_in", "Leaver", "leaver", "leavers"),
         phrases=(r"lived-in", r"leavers?")),
    Word("busy interval, work interval", identifiers=("flight", "flights", "Flight"),
         within=("guard",)),
    Word("enqueue, launch permit", identifiers=("stand_in_line", "TurnTaker"),
         phrases=(r"(?:stand(?:s|ing)?|stood) in line",)),
    Word("timeout, burst budget", identifiers=("patience", "Patience", "credit", "Credit"),
         within=("guard",)),
    Word("being_bound, reserved_on, reservation_order",
         identifiers=("set_aside", "kept_on", "kept_turn"), within=("src", "testing/simulation")),
    Word("may_have_evicted, evict_next", identifiers=("has_ended_some", "kMaking"),
         within=("src",)),
    Word("FreeCapacity, NodeState", identifiers=("Room", "NodeRoom", "room_of"),
         within=("src/domain/defrag",)),
    Word("ShareState", identifiers=("Standing", "standing"), within=("src/app/agent",)),
    Word("rebind", identifiers=("mend",), within=("guard",)),
    Word("reserve, release, force_charge", identifiers=("set_aside", "put_back", "own_up_to"),
         phrases=(r"owns? up to",), within=("guard",)),
    Word("hook, intercept", phrases=(r"(?:stand(?:s|ing)?|stood) before",)),

    # Tests.
    Word("InvariantChecker", parts=("watchman",), phrases=(r"watchm[ae]n",)),
    Word("GroundTruth", identifiers=("Truth",), within=("testing/simulation",)),
    Word("FaultyKubeApi", identifiers=("KubeLine", "kube_line")),
    Word("mutant", parts=("planted",), phrases=(r"planted",),
         within=("testing/simulation", "docs/internals/simulation")),
    Word("orphaned container", parts=("ghost", "ghosts"), phrases=(r"ghosts?",)),

    # Names of objects and alerts.
    Word("tessera-restrict-agent-nodes, tessera-immutable-allocations, TesseraSchedulerBypassed",
         phrases=(r"tessera-agents-at-home", r"tessera-allocations-stay",
                  r"TesseraSchedulerDoesNotAsk")),
)


@dataclass(frozen=True)
class Allowed:
    """A lawful use of a word."""
    path: str    # where: the start of a path
    found: str   # the word, as a fault shows it
    reason: str


EXCEPTIONS: tuple[Allowed, ...] = ()

PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
NAME_IN_TEXT = re.compile(r"[A-Za-z_][\w-]*[\w]")
# Of several words: free_cards, --free-cards, FreeCards.
COMPOUND = re.compile(r".[-_]|[a-z][A-Z]")
ANY_PHRASE = re.compile(
    r"\b(?:" + "|".join(phrase for word in WORDS for phrase in word.phrases).replace(" ", r"\s+")
    + r")\b", re.IGNORECASE)
PHRASES = {word: re.compile(r"\b(?:" + "|".join(word.phrases).replace(" ", r"\s+") + r")\b",
                            re.IGNORECASE) for word in WORDS if word.phrases}


def faults(root: Path) -> Iterator[str]:
    """Every fault under root, as PATH:LINE: SENTENCE."""
    for source in texts.sources(root):
        known: set[tuple[int, Word]] = set()  # `--free-cards` is a name and has a phrase
        for line, found, word in _found(source):
            if (line, word) in known or _is_exception(source, found):
                continue
            known.add((line, word))
            yield f"{source.name}:{line}: \"{found}\": the word is {word.instead}."


def _is_exception(source: texts.Source, found: str) -> bool:
    return any(source.name.startswith(allowed.path) and allowed.found == found
               for allowed in EXCEPTIONS)


def _found(source: texts.Source) -> Iterator[tuple[int, str, Word]]:
    """(line, what is not used, its row)."""
    yield from _names(source, 1, re.sub(r"[/.]", " ", source.name), NAME_IN_TEXT, False)
    yield from _names(source, 1, source.code, IDENTIFIER, True)
    for text in _texts_of(source):
        yield from _names(source, text.line, text.words, NAME_IN_TEXT, False)
        if ANY_PHRASE.search(text.words):
            yield from _phrases(source, text)


def _texts_of(source: texts.Source) -> list[texts.Text]:
    """A document's examples count, too."""
    if source.name.endswith(".md"):
        return [texts.Text(1, texts.DOCUMENT, source.text)]
    return source.texts


def _names(source: texts.Source, line: int, text: str, names: re.Pattern[str],
           is_code: bool) -> Iterator[tuple[int, str, Word]]:
    for name in sorted(set(names.findall(text))):
        if not is_code and not COMPOUND.search(name):
            continue
        for word in _words_of(name):
            if _is_within(source, word):
                at = re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", text)
                yield line + text.count("\n", 0, at.start() if at else 0), name, word


def _phrases(source: texts.Source, text: texts.Text) -> Iterator[tuple[int, str, Word]]:
    for word, pattern in PHRASES.items():
        if (found := pattern.search(text.words)) and _is_within(source, word):
            yield (text.line + text.words.count("\n", 0, found.start()),
                   " ".join(found.group().split()), word)


@lru_cache(maxsize=None)
def _words_of(name: str) -> tuple[Word, ...]:
    """The rows that ban a name."""
    parts = {part.lower() for part in PART.findall(name)}
    return tuple(word for word in WORDS if name in word.identifiers or parts & set(word.parts))


def _is_within(source: texts.Source, word: Word) -> bool:
    return not word.within or source.name.startswith(word.within)


if __name__ == "__main__":
    sys.exit(texts.report(faults))
