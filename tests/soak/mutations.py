# SPDX-License-Identifier: MIT
"""Damage: bytes that are cut, flipped, doubled, dropped or lie about lengths; text whose numbers, lines and words are odd."""
import re

NUMBERS = ["0", "-1", "1", "2147483647", "2147483648", "4294967295", "4294967296", "9223372036854775807", "18446744073709551616",
           "1e30", "-1e-30", "1e999", "nan", "inf", "0x10", "", "3.5", "00", "1_000", "١"]
WORDS = ["", "null", "true", "~", "[]", "{}", "'", '"', "&a", "*a", "!!int", "|", "<<", ":", "#", "\t", "\0", "\x1b[31m", "é",
         "%s%n", "../../etc/passwd", "a" * 300]


def cut(dice, data):
    return data[:dice.int(0, len(data))]


def flip(dice, data):
    data = bytearray(data)
    for _ in range(dice.choice([1, 1, 2, 8])):
        if data:
            data[dice.int(0, len(data) - 1)] ^= 1 << dice.int(0, 7)
    return bytes(data)


def lie(dice, data):
    """A few bytes that may be a length become extreme."""
    at = dice.int(0, len(data))
    value = dice.choice([b"\xff" * 4, b"\xff" * 8, b"\0" * 4, b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x80" * 9 + b"\1",
                         b"\xfe"])
    return data[:at] + value + data[at + len(value):]


def drop(dice, data):
    at = dice.int(0, len(data))
    return data[:at] + data[at + dice.int(1, 16):]


def double(dice, data):
    at, n = dice.int(0, len(data)), dice.int(1, 64)
    return data[:at] + data[at:at + n] * dice.int(2, 4) + data[at + n:]


def swap(dice, data):
    a, b = sorted(dice.int(0, len(data)) for _ in range(2))
    n = dice.int(1, 16)
    return data[:a] + data[b:b + n] + data[a + n:b] + data[a:a + n] + data[b + n:] if a + n <= b else data[::-1]


def odd_number(dice, text):
    found = list(re.finditer(r"\d[\d.e+-]*", text))
    if not found:
        return text
    one = dice.choice(found)
    return text[:one.start()] + dice.choice(NUMBERS) + text[one.end():]


def odd_word(dice, text):
    found = list(re.finditer(r"[A-Za-z_]+", text))
    if not found:
        return text
    one = dice.choice(found)
    return text[:one.start()] + dice.choice(WORDS + [dice.choice(found).group()]) + text[one.end():]


def odd_line(dice, text):
    lines = text.split("\n")
    at = dice.int(0, len(lines) - 1)
    way = dice.int(0, 3)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(at, dice.choice(lines))
    elif way == 2:
        lines[at] = " " * dice.int(1, 5) + lines[at]
    else:
        lines[at] = lines[at] + dice.choice(WORDS)
    return "\n".join(lines)


BINARY = [cut, flip, flip, lie, lie, drop, double, swap]
TEXT = [odd_number, odd_number, odd_number, odd_word, odd_line]


def damaged(dice, data, text):
    """One to three faults, at times none: the file as it is must be taken."""
    for _ in range(dice.choice([0, 1, 1, 1, 2, 3])):
        if text and dice.chance(0.8):
            data = dice.choice(TEXT)(dice, data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        else:
            data = dice.choice(BINARY)(dice, data)
    return data
