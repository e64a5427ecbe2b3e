"""The pages of docs/reference are those that the tables give."""

from __future__ import annotations

import unittest

from reference import pages


class PagesTest(unittest.TestCase):
    def test_the_pages_are_made_from_the_tables(self) -> None:
        for name, make in pages.PAGES.items():
            with self.subTest(name):
                self.assertEqual((pages.FOLDER / name).read_text(encoding="utf-8"), make(),
                                 "run: cd testing; python3 -m reference.pages")

    def test_the_folder_has_no_other_page(self) -> None:
        self.assertEqual({path.name for path in pages.FOLDER.iterdir()}, set(pages.PAGES))

    def test_a_line_that_is_no_row_is_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "events.def:2: not a row"):
            list(pages.rows("src/base/events.def", "CONFIG"))


if __name__ == "__main__":
    unittest.main()
