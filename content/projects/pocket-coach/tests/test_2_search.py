"""Stage 2: the right note is found, in a fixed order."""

import unittest

from sample_notes import sample_store
from search import Store

QUESTIONS = {
    "Where do I brake for turn 3 in the wet?": "turn-3",
    "Where is the apex of turn 5?": "turn-5",
    "How many litres of fuel does one lap need?": "fuel",
    "What pressure is right in cold tyres?": "tyres",
    "What does a blue flag mean?": "flags",
    "Why does the rear slide at the exit?": "tyres",
}


class SearchTest(unittest.TestCase):
    def test_every_sample_question_finds_its_note(self) -> None:
        store = sample_store()
        for question, right in QUESTIONS.items():
            sources = [hit.chunk.source for hit in store.search(question, 2)]
            self.assertIn(right, sources, question)

    def test_a_text_finds_itself_first_with_the_best_score(self) -> None:
        store = sample_store()
        hits = store.search("fuel One lap needs 2.4 litres of fuel.", 3)
        self.assertEqual(hits[0].chunk.source, "fuel")
        self.assertEqual(max(hit.score for hit in hits), hits[0].score)
        self.assertTrue(all(-1.0001 <= hit.score <= 1.0001 for hit in hits))

    def test_equal_scores_come_in_a_fixed_order(self) -> None:
        store = Store()
        for source in ("k2", "k1", "k3"):
            store.add(source, "Brake late.")
        found = [hit.chunk.source for hit in store.search("brake", 3)]
        self.assertEqual(found, ["k1", "k2", "k3"])

    def test_adding_a_note_again_replaces_it(self) -> None:
        store = Store()
        store.add("turn-1", "Brake early. Wait. Turn in.")
        self.assertEqual(store.add("turn-1", "Stay flat."), 1)
        self.assertEqual(len(store), 1)
        self.assertEqual(store.search("the of"), [])


if __name__ == "__main__":
    unittest.main()
