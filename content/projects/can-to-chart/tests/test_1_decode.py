"""Stage 1: lines become frames, bytes become values."""

import unittest

import make_log
from decode import Frame, decode, read_log, series
from signals import BRAKE, GEAR, SPEED, Signal


class DecodeTest(unittest.TestCase):
    def test_a_line_becomes_a_frame(self) -> None:
        text = "(1763600000.020000) can0 1B0#FFFE\n\n(1763600000.100000) vcan1 2C0#\n"
        first, second = read_log(text)
        self.assertEqual(first, Frame(1763600000.02, 0x1B0, bytes([0xFF, 0xFE])))
        self.assertEqual(second.data, b"")

    def test_a_damaged_line_is_named(self) -> None:
        with self.assertRaisesRegex(ValueError, "line 2"):
            read_log("(1.0) can0 120#00\n(1.1) can0 120#0\n")

    def test_little_endian_values(self) -> None:
        data = bytes.fromhex("0000983A00")
        self.assertAlmostEqual(decode(SPEED, data), 150.0)
        self.assertEqual(decode(GEAR, bytes([0x0F, 0x5F])), 5)

    def test_big_endian_values(self) -> None:
        self.assertAlmostEqual(decode(BRAKE, bytes.fromhex("0258")), 60.0)
        middle = Signal("x", "1", 1, start=3, length=8, big_endian=True)
        self.assertEqual(decode(middle, bytes([0xFA, 0xBF, 0xFF])), 0xAB)

    def test_negative_values_and_offsets(self) -> None:
        self.assertAlmostEqual(decode(BRAKE, bytes.fromhex("FFFE")), -0.2)
        small = Signal("x", "1", 1, start=4, length=4, signed=True, offset=-40.0)
        self.assertEqual(decode(small, bytes([0x8F])), -48.0)
        self.assertEqual(decode(small, bytes([0x7F])), -33.0)

    def test_a_frame_that_is_too_short_is_refused(self) -> None:
        for signal, size in ((SPEED, 3), (BRAKE, 1), (GEAR, 1), (GEAR, 0)):
            with self.assertRaises(ValueError):
                decode(signal, bytes(size))

    def test_the_sample_agrees_with_its_tables(self) -> None:
        frames = read_log(make_log.log_text())
        speed, brake = series(frames, SPEED), series(frames, BRAKE)
        self.assertEqual((len(speed.times_s), len(brake.times_s)), (1001, 1851))
        for t_s, value in zip(*speed, strict=True):
            self.assertAlmostEqual(value, make_log.at(t_s, make_log.SPEED_KMH), 1)
        for t_s, value in zip(*brake, strict=True):
            true = make_log.at(t_s, make_log.BRAKE_BAR)
            self.assertAlmostEqual(value, true, delta=0.051)


if __name__ == "__main__":
    unittest.main()
