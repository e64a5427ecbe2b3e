"""The rows of vocabulary.py bite, lawful uses pass, and the tree itself has no fault."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

import vocabulary

ROOT = Path(__file__).resolve().parents[2]


def faults_of(name: str, text: str) -> list[str]:
    """The faults of a tree with one file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return list(vocabulary.faults(Path(folder)))


class VocabularyTest(unittest.TestCase):
    def assert_fault(self, name: str, text: str, found: str, line: int = 1) -> None:
        faults = faults_of(name, text)
        self.assertEqual(len(faults), 1, (text, faults))
        self.assertIn(f"\"{found}\": the word is ", faults[0])
        self.assertTrue(faults[0].startswith(f"{name}:{line}: "), faults[0])

    def assert_lawful(self, name: str, text: str) -> None:
        self.assertEqual(faults_of(name, text), [], text)

    def test_the_tree_has_no_fault(self) -> None:
        self.assertEqual(list(vocabulary.faults(ROOT)), [])

    def test_a_fault_names_the_word_to_write(self) -> None:
        self.assertEqual(faults_of("src/a.cpp", "int x;\nint free_cards;\n"),
                         ["src/a.cpp:2: \"free_cards\": the word is GPU."])

    def test_identifiers(self) -> None:
        for name, identifier in [
            ("src/a.cpp", "card"), ("src/a.cpp", "freeCards"), ("guard/a.c", "CARD_COUNT"),
            ("testing/a.py", "count_cards"), ("src/a.hpp", "cores_ceiling_"),
            ("src/domain/a.hpp", "Holding"), ("src/app/a.hpp", "ShareKeeper"),
            ("guard/a.cpp", "EvaderList"), ("src/wire/a.cpp", "name_space"),
            ("src/app/a.cpp", "company_of"), ("gpusim/a.cpp", "IslandOf"),
            ("src/a.cpp", "resize_wish"), ("src/a.cpp", "SlipTeller"), ("src/a.cpp", "TenantPtr"),
            ("src/a.cpp", "in_doubt"), ("src/app/scheduler/a.cpp", "unseen"),
            ("src/domain/a.hpp", "MemoryAsk"), ("src/domain/a.hpp", "PodFacts"),
            ("testing/a.cpp", "NodeView"), ("src/app/a.hpp", "Keeper"), ("src/app/a.hpp", "Feed"),
            ("testing/a.cpp", "trouble"), ("src/a.cpp", "NodeRater"), ("src/a.cpp", "Placements"),
            ("src/domain/a.cpp", "Misfit"), ("src/domain/a.cpp", "Refusals"),
            ("src/domain/a.cpp", "Offer"), ("src/a.cpp", "OwnPreemption"),
            ("src/a.cpp", "RefusedPods"), ("src/a.cpp", "GangRooms"),
            ("src/app/scheduler/a.cpp", "promised"), ("src/a.cpp", "ClusterSnapshot"),
            ("src/a.cpp", "SecondLook"), ("src/a.cpp", "is_foreseen"), ("src/a.cpp", "FleetPolicy"),
            ("simulator/a.cpp", "PodStory"), ("src/a.cpp", "FrontDoor"),
            ("src/a.cpp", "who_are_you"), ("src/app/agent/a.cpp", "Gate"),
            ("src/a.cpp", "find_puzzle"), ("src/a.cpp", "note_told"), ("guard/a.cpp", "kGranule"),
            ("guard/a.cpp", "take_seat"), ("guard/a.cpp", "Leaver"), ("guard/a.cpp", "flight"),
            ("guard/a.cpp", "stand_in_line"), ("guard/a.cpp", "patience"),
            ("guard/a.cpp", "own_up_to"), ("testing/a.cpp", "Watchman"),
            ("testing/simulation/a.cpp", "Truth"), ("testing/a.cpp", "KubeLine"),
            ("testing/simulation/a.py", "planted_bugs"), ("src/domain/a.hpp", "held"),
            ("src/domain/a.hpp", "promise"), ("src/app/scheduler/gang/a.hpp", "Room"),
            ("src/a.cpp", "settle_unconfirmed"), ("src/app/a.cpp", "stories"),
            ("src/domain/defrag/a.hpp", "Lodger"), ("src/a.cpp", "is_by_lot"),
            ("src/a.cpp", "hand_over"), ("testing/a.cpp", "is_ghost"),
        ]:
            self.assert_fault(name, f"\nx {identifier} = 0\n", identifier, 2)

    def test_phrases(self) -> None:
        for phrase in ["card", "Cards", "is sure of", "ceiling", "evaders", "goes past",
                       "holds a container to its share", "islands", "wishes", "slip", "in doubt",
                       "misfit", "victim ends for", "reserves the room", "room is reserved",
                       "second look", "foreseen", "bind is settled", "fleet", "puzzle", "granules",
                       "seat", "lived-in", "stands in line", "stood before", "watchmen", "ghosts",
                       "tessera-agents-at-home"]:
            sentence = f"Here {phrase} is written."
            self.assert_fault("src/a.cpp", f"// One.\n// {sentence}\n", phrase, 2)
            self.assert_fault("src/a.cpp", f'f("{sentence}");\n', phrase)
            self.assert_fault("testing/a.py", f"# {sentence}\n", phrase)
            self.assert_fault("docs/a.md", f"One.\n\n{sentence}\n", phrase, 3)
            self.assert_fault("deploy/a.yaml", f"# {sentence}\n", phrase)
            wrapped = phrase.replace(" ", "\n")
            self.assert_fault("docs/a.md", f"Here {wrapped}\nis.\n", phrase)

    def test_names_in_texts(self) -> None:
        alert = "TesseraSchedulerDoesNotAsk"
        self.assert_fault("docs/a.md", f"# {alert}\n", alert)
        self.assert_fault("docs/a.md", "Set `--free-cards`.\n", "free-cards")
        self.assert_fault("docs/a.md", "```\ntessera_agent_cards_total 1\n```\n",
                          "tessera_agent_cards_total", 2)
        self.assert_fault("src/a.cpp", 'f("resize_wish");\n', "resize_wish")
        self.assert_fault("src/a.cpp", "// As a ClusterView.\n", "ClusterView")
        self.assert_fault("deploy/a.yaml", "gpu-cards: 1\n", "cards")

    def test_file_names(self) -> None:
        self.assert_fault("src/free_cards.cpp", "int x;\n", "free_cards")
        self.assert_fault("deploy/kill-evaders/a.yaml", "a: b\n", "kill-evaders")

    def test_lawful_uses_pass(self) -> None:
        for name, text in [
            ("src/a.cpp", "int discard = cardinal;\n"),
            ("src/a.cpp", "// A discarded scorecard, a slipstream, a seating.\n"),
            ("src/app/scheduler/a.cpp", "auto lock = hold(mutex); std::promise<int> answer;\n"),
            ("src/app/scheduler/a.cpp", "int gate; // A pod with scheduling gates.\n"),
            ("gpusim/a.cpp", "int turn, mark, piece, space, patience, credit;\n"),
            ("guard/a.cpp", "int in_flight_ns; // work in flight, one piece of it, in turn\n"),
            ("guard/a.cpp", "// The program asks for memory where there is room for it.\n"),
            ("src/a.cpp", "// The share ends where the process ends. It goes on.\n"),
            ("src/a.cpp", "// The tenant holds the lock. The offer fits. It needs a turn.\n"),
            ("src/a.cpp", "bool is_slippery = embarked;\n"),
            ("guard/a.cpp", "class Tenant;\n"),
            ("docs/a.md", "Tenant, Offer, Feed and Gate are English words.\n"),
        ]:
            self.assert_lawful(name, text)

    def test_what_others_wrote_is_not_read(self) -> None:
        for name in ("docs/research/a.md", "testing/fixtures/a.py", "api/nri/a.h", "build/a.md"):
            self.assert_lawful(name, "card\n")

    def test_exceptions(self) -> None:
        for allowed in vocabulary.EXCEPTIONS:
            self.assertGreater(len(allowed.reason.split()), 3, allowed)
        allowed = vocabulary.Allowed("src/a", "cards", "the name of another product's field")
        with mock.patch.object(vocabulary, "EXCEPTIONS", (allowed,)):
            self.assert_lawful("src/a.cpp", "int cards;\n")
            self.assert_fault("src/b.cpp", "int cards;\n", "cards")
            self.assert_fault("src/a.cpp", "int card;\n", "card")


if __name__ == "__main__":
    unittest.main()
