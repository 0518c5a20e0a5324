"""Stage 3: answers rest on a note, or the coach declines."""

import unittest

from coach import NO_NOTE, answer
from sample_notes import sample_store

FUEL = "How many litres of fuel does one lap need?"


def broken(text: str) -> str:
    """A model server that has gone away."""
    raise ConnectionError(text)


class AnswerTest(unittest.TestCase):
    def test_without_a_model_the_best_sentence_answers(self) -> None:
        said = answer(FUEL, sample_store())
        self.assertEqual(said.text, "One lap needs 2.4 litres of fuel.")
        self.assertEqual((list(said.sources), said.by), (["fuel"], "note"))

    def test_a_model_sees_the_notes_and_the_question(self) -> None:
        seen: list[str] = []

        def model(text: str) -> str:
            seen.append(text)
            return " You need 2.4 litres. "

        said = answer(FUEL, sample_store(), model)
        self.assertEqual((said.text, said.by), ("You need 2.4 litres.", "model"))
        self.assertIn("fuel", said.sources)
        self.assertIn("One lap needs 2.4 litres of fuel.", seen[0])
        self.assertTrue(seen[0].endswith(FUEL))

    def test_a_broken_model_falls_back_to_the_note(self) -> None:
        said = answer(FUEL, sample_store(), broken)
        self.assertEqual(said, answer(FUEL, sample_store()))
        self.assertEqual(said.by, "note")

    def test_an_empty_reply_falls_back_to_the_note(self) -> None:
        said = answer(FUEL, sample_store(), lambda text: " \n")
        self.assertEqual(said.by, "note")

    def test_without_a_note_nobody_is_asked(self) -> None:
        seen: list[str] = []

        def model(text: str) -> str:
            seen.append(text)
            return "Yes."

        for question in ("Who won the race in 1966?", "Which hotel has a pool?", "..."):
            said = answer(question, sample_store(), model)
            self.assertEqual((said.text, list(said.sources)), (NO_NOTE, []), question)
        self.assertEqual(seen, [])


if __name__ == "__main__":
    unittest.main()
