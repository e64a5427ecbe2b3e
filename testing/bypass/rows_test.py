"""The table in SECURITY.md has exactly the attacks that ./dev check bypass runs, and docs/limits.md
has the words that documented attacks quote. Needs no cluster."""

from __future__ import annotations

import re
import unittest

from bypass import check, rows
from bypass.rows import CAUGHT, DOCUMENTED, FAILED, REPORTED, Attack, Outcome

ATTACK = Attack("tries", CAUGHT, "a way", "pod")
PAGE = f"before\n{rows.BEGIN}\n\n{rows.table([ATTACK])}\n\n{rows.END}\nafter\n"


class RowsTest(unittest.TestCase):
    """The definitions, and the pages that quote them."""

    def setUp(self) -> None:
        self.attacks = [attack for phase in check.phases() for attack, _ in phase]

    def test_security_has_the_same_table(self) -> None:
        self.assertEqual(rows.published(rows.SECURITY.read_text()),
                         {each.name: (each.text, each.verdict, each.where)
                          for each in self.attacks})

    def test_every_row_of_attacks_def_is_read(self) -> None:
        rows_there = re.findall(r"^(?:POD_)?ATTACK\((\w+)", rows.DEFINITIONS.read_text(), re.M)
        self.assertEqual([each.name for each in rows.programs()], rows_there)

    def test_names_are_unique_and_of_a_pod(self) -> None:
        names = [each.name for each in self.attacks]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 40)
        for name in names:
            self.assertRegex(name, r"^[a-z][a-z0-9_]{2,50}$")

    def test_documented_ones_quote_limits(self) -> None:
        for attack in self.attacks:
            with self.subTest(attack.name):
                self.assertIn(attack.verdict, (CAUGHT, REPORTED, DOCUMENTED))
                self.assertEqual(attack.verdict == DOCUMENTED, bool(attack.limit))
                self.assertTrue(attack.verdict != DOCUMENTED or rows.is_documented(attack))


class FaultsTest(unittest.TestCase):
    """Results that make the check fail."""

    def test_an_attack_as_the_table_says_is_no_fault(self) -> None:
        self.assertEqual(check.faults([(ATTACK, Outcome(CAUGHT))], PAGE), [])

    def test_another_verdict_is_a_fault(self) -> None:
        for verdict in (REPORTED, DOCUMENTED, FAILED):
            self.assertEqual(len(check.faults([(ATTACK, Outcome(verdict))], PAGE)), 1, verdict)

    def test_a_row_that_differs_or_is_missing_is_a_fault(self) -> None:
        for page in (PAGE.replace("a way", "another"), PAGE.replace("caught", "reported"), ""):
            self.assertEqual(len(check.faults([(ATTACK, Outcome(CAUGHT))], page)), 1, page)

    def test_unreported_excess_without_words_of_limits_is_a_failure(self) -> None:
        for limit in ("", "words that are nowhere"):
            attack = Attack("tries", DOCUMENTED, "a way", "pod", limit)
            self.assertEqual(check.final_outcome(attack, Outcome(DOCUMENTED)).verdict, FAILED)

    def test_what_cannot_be_run_is_a_failure(self) -> None:
        def run(_: object) -> Outcome:
            raise RuntimeError("no cluster")
        self.assertEqual(check.attempt(check.AttackCase(), ATTACK, run).verdict, FAILED)

    def test_a_written_table_is_read_again(self) -> None:
        changed = Attack("tries", REPORTED, "a way", "pod")
        page = rows.with_table(PAGE, [changed])
        self.assertEqual(rows.published(page), {"tries": ("a way", REPORTED, "pod")})
        self.assertTrue(page.startswith("before\n") and page.endswith("\nafter\n"))


if __name__ == "__main__":
    unittest.main()
