"""Writes and reads ASN.1 in DER, as much of it as certificates' extensions and time stamps need."""

from dataclasses import dataclass
from enum import IntEnum


class Tag(IntEnum):
    """What an element is; the context's own tags have `CONTEXT` and a number."""

    BOOLEAN = 0x01
    INTEGER = 0x02
    OCTET_STRING = 0x04
    OBJECT_ID = 0x06
    UTF8_STRING = 0x0C
    UTC_TIME = 0x17
    GENERALIZED_TIME = 0x18
    SEQUENCE = 0x30
    SET = 0x31
    CONTEXT_0 = 0xA0


@dataclass(frozen=True, slots=True)
class Element:
    """One element: its content, and all of it as it was found."""

    tag: int
    content: bytes
    whole: bytes


def encode(tag: Tag, *parts: bytes) -> bytes:
    """Write an element of these parts."""
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    width = (size.bit_length() + 7) // 8
    return bytes([tag, 0x80 | width]) + size.to_bytes(width, "big") + content


def encode_integer(value: int) -> bytes:
    """Write an integer that is not negative."""
    # One bit more than the number has: the first one is the sign.
    return encode(Tag.INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def encode_text(text: str) -> bytes:
    """Write a text in UTF-8."""
    return encode(Tag.UTF8_STRING, text.encode())


def encode_object_id(dotted: str) -> bytes:
    """Write an object identifier such as `1.2.840`."""
    first, second, *rest = (int(each) for each in dotted.split("."))
    return encode(Tag.OBJECT_ID, *(_encode_arc(arc) for arc in (first * 40 + second, *rest)))


def _encode_arc(arc: int) -> bytes:
    # Seven bits in each byte, the eighth says that more follow.
    digits = [arc & 0x7F]
    while arc := arc >> 7:
        digits.append(0x80 | arc & 0x7F)
    return bytes(reversed(digits))


def decode(data: bytes) -> list[Element]:
    """Read the elements that stand one after the other in `data`.

    Raises:
        ValueError: They are cut short.
    """
    elements: list[Element] = []
    while data:
        element = _decode_first(data)
        elements.append(element)
        data = data[len(element.whole) :]
    return elements


def _decode_first(data: bytes) -> Element:
    if len(data) < 2:
        raise ValueError("an element of DER has no length")
    start, size = 2, data[1]
    if size & 0x80:
        start += size & 0x7F
        size = int.from_bytes(data[2:start], "big")
    if len(data) < start + size:
        raise ValueError(f"an element of DER has {len(data) - start} of {size} bytes")
    return Element(data[0], data[start : start + size], data[: start + size])
