"""PostgreSQL's 64-bit hashes with seed 0: Bob Jenkins' lookup3, as in `hash_bytes_extended`.

The arithmetic is unrolled, because a hash map computes a hash for each lookup.
"""

from __future__ import annotations

_MASK = 0xFFFF_FFFF
_START = 0x9E37_79B9 + 3_923_095


def hash_int8(value: int) -> int:
    """The hash of an integer, and of a time, as in `hashint8extended`."""
    high = (value >> 32) & _MASK
    return hash_word((value & _MASK) ^ (high if value >= 0 else high ^ _MASK))


def hash_word(word: int) -> int:
    """The hash of 32 bits."""
    start = (_START + 4) & _MASK
    return _finish((start + word) & _MASK, start, start)


def hash_bytes(data: bytes) -> int:
    """The hash of bytes, such as a text in UTF-8."""
    length = len(data)
    a = b = c = (_START + length) & _MASK
    whole = length - length % 12
    for at in range(0, whole, 12):
        a = (a + int.from_bytes(data[at : at + 4], "little")) & _MASK
        b = (b + int.from_bytes(data[at + 4 : at + 8], "little")) & _MASK
        c = (c + int.from_bytes(data[at + 8 : at + 12], "little")) & _MASK
        a, b, c = _mix(a, b, c)
    rest = data[whole:]
    a = (a + int.from_bytes(rest[0:4], "little")) & _MASK
    b = (b + int.from_bytes(rest[4:8], "little")) & _MASK
    # The lowest byte of the third word is that of the length.
    c = (c + (int.from_bytes(rest[8:11], "little") << 8)) & _MASK
    return _finish(a, b, c)


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    a = ((a - c) & _MASK) ^ ((c << 4 | c >> 28) & _MASK)
    c = (c + b) & _MASK
    b = ((b - a) & _MASK) ^ ((a << 6 | a >> 26) & _MASK)
    a = (a + c) & _MASK
    c = ((c - b) & _MASK) ^ ((b << 8 | b >> 24) & _MASK)
    b = (b + a) & _MASK
    a = ((a - c) & _MASK) ^ ((c << 16 | c >> 16) & _MASK)
    c = (c + b) & _MASK
    b = ((b - a) & _MASK) ^ ((a << 19 | a >> 13) & _MASK)
    a = (a + c) & _MASK
    c = ((c - b) & _MASK) ^ ((b << 4 | b >> 28) & _MASK)
    return a, (b + a) & _MASK, c


def _finish(a: int, b: int, c: int) -> int:
    c = ((c ^ b) - (b << 14 | b >> 18)) & _MASK
    a = ((a ^ c) - (c << 11 | c >> 21)) & _MASK
    b = ((b ^ a) - (a << 25 | a >> 7)) & _MASK
    c = ((c ^ b) - (b << 16 | b >> 16)) & _MASK
    a = ((a ^ c) - (c << 4 | c >> 28)) & _MASK
    b = ((b ^ a) - (a << 14 | a >> 18)) & _MASK
    c = ((c ^ b) - (b << 24 | b >> 8)) & _MASK
    return b << 32 | c
