"""Bytes to UTF-8: which encoding a file is in, whatever it says of itself."""

from __future__ import annotations

import codecs
import re
import struct
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from w3lib.encoding import resolve_encoding

if TYPE_CHECKING:
    from collections import Counter

_BLANKS: Final = b" \t\r\n\f\v"
_MARKS: Final = (
    # The longer first: the mark of UTF-32 begins with that of UTF-16 (XML 1.0 appendix F.1).
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WITHOUT_MARK: Final = (
    # Where the zero bytes of the first, ASCII character stand (XML 1.0 appendix F.1).
    (re.compile(rb"[\t\n\r -~]\0\0\0"), "utf-32-le"),
    (re.compile(rb"\0\0\0[\t\n\r -~]"), "utf-32-be"),
    (re.compile(rb"[\t\n\r -~]\0"), "utf-16-le"),
    (re.compile(rb"\0[\t\n\r -~]"), "utf-16-be"),
)
_DECLARATION: Final = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""")
_DECLARED_WITHIN: Final = 4096  # a declaration may stand behind blanks or a server's warning
_ONE_CHARSET: Final = re.compile(
    # Python's names of what pages are written in. Not UTF-8, which was tried, and none of its
    # codecs that are no character sets.
    r"cp\d{3,4}|iso8859-\d+|koi8-[rtu]|mac-\w+|gb2312|gbk|gb18030|big5|big5hkscs|euc_\w+|shift_jis\w*"
)
_ASCII: Final = bytes(range(0x80))
_NO_CHARACTER: Final = "\uffff"
"""What stands for bytes that mean nothing: XML forbids it, so its entry is not kept."""

# A byte that is not UTF-8 (as Python escapes it) → windows-1252, its five gaps as in the WHATWG
# encoding standard.
_WINDOWS_1252: Final = {
    0xDC00 + byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte)
    for byte in range(0x80, 0x100)
}
_PIECE: Final = 1 << 20


def to_utf8(data: bytes, charset: str | None, notes: Counter[str]) -> bytes:
    """The document in UTF-8, without byte order marks and blanks before it.

    The order is that of XML 1.0 appendix F and RFC 7303 §3: the byte order mark, then `charset`
    (of the HTTP header) unless the bytes are clean UTF-8, then the XML declaration, then UTF-8.
    Bytes that are still no UTF-8 are read as windows-1252, each on its own, so that one of them
    in a file of UTF-8 changes no other URL. Notes: `charset_wide`, `charset_declared`,
    `windows_1252`.
    """
    encoding = _without_mark(data)
    if encoding is None:
        data, is_marked = _begin(data)
        for mark, name in _MARKS:
            if data.startswith(mark):
                data, encoding = data[len(mark) :], name
                break
        else:
            return _narrow(data, None if is_marked else _declared(data, charset), notes)
    notes["charset_wide"] += 1
    return _begin(_wide(data, encoding))[0]


def _without_mark(data: bytes) -> str | None:
    return next((name for zeros, name in _WITHOUT_MARK if zeros.match(data)), None)


def _begin(data: bytes) -> tuple[bytes, bool]:
    """Drop blanks and marks of UTF-8 in any order; and whether there was a mark."""
    is_marked = False
    while True:
        data = data.lstrip(_BLANKS)
        if not data.startswith(codecs.BOM_UTF8):
            return data, is_marked
        data, is_marked = data[len(codecs.BOM_UTF8) :], True


def _wide(data: bytes, encoding: str) -> bytes:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace").replace("\ufffd", _NO_CHARACTER)
    return text.encode()


def _declared(data: bytes, charset: str | None) -> list[str]:
    """The character sets that the transport and the document name, as Python calls them."""
    found = _DECLARATION.search(data, 0, _DECLARED_WITHIN)
    labels = [charset, found[1].decode("ascii") if found else None]
    names = [resolve_encoding(label) for label in labels if label]
    return [name for name in names if name and _ONE_CHARSET.fullmatch(name)]


def _narrow(data: bytes, declared: list[str] | None, notes: Counter[str]) -> bytes:
    if _is_utf8(data):
        return data
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return data[: error.start]  # cut inside a character: the entry in progress is not kept
    for name in declared or ():
        if _is_mostly_utf8(data):
            break
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            continue
        notes["charset_declared"] += 1
        return text.encode()
    notes["windows_1252"] += 1
    return _mended(data)


def _is_utf8(data: bytes) -> bool:
    """Whether the bytes are UTF-8; Arrow proves it without making text of them."""
    offsets = pa.py_buffer(struct.pack("=2i", 0, len(data)))
    text = pa.StringArray.from_buffers(1, offsets, pa.py_buffer(data))
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _is_mostly_utf8(data: bytes) -> bool:
    """Whether more characters beyond ASCII are right UTF-8 than bytes are not.

    Text in another character set has next to none that are, so this tells a foreign file from one
    with a stray byte.
    """
    text = data.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    beyond_ascii = len(text) - (len(data) - len(data.translate(None, _ASCII)))
    return beyond_ascii > 2 * wrong


def _mended(data: bytes) -> bytes:
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    pieces = []
    for at in range(0, len(data), _PIECE):
        text = decoder.decode(data[at : at + _PIECE], at + _PIECE >= len(data))
        pieces.append(text.translate(_WINDOWS_1252).encode())
    return b"".join(pieces)
