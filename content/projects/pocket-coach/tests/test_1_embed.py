"""Stage 1: notes become chunks, text becomes vectors."""

import subprocess
import sys
import unittest

from notes import chunks, embed

NOTE = "First we warm up. Then we brake late. Third gear is enough. Then cool down."


class EmbedTest(unittest.TestCase):
    def test_chunks_keep_the_limit_and_the_order(self) -> None:
        pieces = chunks(NOTE, limit=45)
        self.assertEqual(pieces[0], "First we warm up. Then we brake late.")
        self.assertTrue(pieces[-1].endswith("Then cool down."))
        self.assertTrue(all(len(piece) <= 45 for piece in pieces))

    def test_neighbours_share_one_sentence(self) -> None:
        self.assertTrue(chunks(NOTE, limit=45)[1].startswith("Then we brake late."))
        self.assertEqual(chunks("One sentence.", limit=45), ["One sentence."])
        self.assertEqual(chunks(" \n "), [])

    def test_vectors_have_384_entries_and_length_one(self) -> None:
        vector = embed("Brake at the 90 m board") or []
        self.assertEqual(len(vector), 384)
        self.assertAlmostEqual(sum(entry**2 for entry in vector), 1.0)

    def test_text_without_a_word_gives_no_vector(self) -> None:
        self.assertIsNone(embed(" ... "))
        self.assertIsNone(embed("the of a"))

    def test_another_process_gives_the_same_vector(self) -> None:
        here = f"{embed('brake late')}\n"
        code = "from notes import embed; print(embed('brake late'))"
        runs = {
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout
            for _ in range(2)
        }
        self.assertEqual(runs, {here})


if __name__ == "__main__":
    unittest.main()
