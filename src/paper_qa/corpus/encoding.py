"""Bytes to text: UTF-8 unless the bytes say otherwise.

Two guesses only, both told apart by how the bytes above 127 stand: single ones among ASCII
letters are a Western text, pairs are a Chinese one. Whatever fits neither is refused, since a
wrong guess would be stored, searched and quoted as if it were the paper's own words.
"""

import codecs
import logging
import re
from pathlib import Path

from paper_qa.errors import FormatError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins with the same two bytes
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HIGH_BYTES = re.compile(rb"[\x80-\xff]+")
_NOT_CHINESE = re.compile("[\u3040-\u30ff\u0400-\u04ff\ue000-\uf8ff]")

_logger = logging.getLogger(__name__)


def marked_encoding(head: bytes) -> str | None:
    """Return the encoding that a byte-order mark, or the zeros of UTF-16, give away."""
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return encoding
    num_zeros = (head[::2].count(0), head[1::2].count(0))
    if max(num_zeros) * 4 <= len(head) or min(num_zeros) * 40 > len(head):
        return None
    return "utf-16-be" if num_zeros[0] > num_zeros[1] else "utf-16-le"


def decode_text(data: bytes, path: Path) -> str:
    """Return the text of a whole file; a guess is logged, with the file's name.

    Raises:
        FormatError: the encoding can't be told.
    """
    marked = marked_encoding(data)
    if marked is not None:
        return _decode(data, marked, path)
    try:
        return data.decode()
    except UnicodeDecodeError:
        encoding = _guess(data)
    if encoding is None:
        raise FormatError(f"{path}: not UTF-8, and its encoding can't be told; save it as UTF-8")
    _logger.warning("%s: not UTF-8; read as %s", path, encoding)
    return _decode(data, encoding, path)


def decode_head(head: bytes) -> str:
    """Return enough of the beginning to see what a file is; a cut character does no harm."""
    return head.decode(marked_encoding(head) or "utf-8", errors="replace").lstrip("\ufeff")


def _decode(data: bytes, encoding: str, path: Path) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: damaged or cut off {encoding}; save it as UTF-8") from error


def _guess(data: bytes) -> str | None:
    runs: list[bytes] = _HIGH_BYTES.findall(data)
    num_single = sum(len(run) == 1 for run in runs)
    if num_single * 2 > sum(map(len, runs)):
        return "cp1252" if _decodes(data, "cp1252") else None
    return "gb18030" if _is_chinese(data) else None


def _is_chinese(data: bytes) -> bool:
    """Tell Chinese from what merely decodes as it: most of it must be everyday characters."""
    if not _decodes(data, "gb18030"):
        return False
    text = data.decode("gb18030")
    codes = [char.encode("gb18030") for char in text if not char.isascii()]
    everyday = [code for code in codes if min(code) >= 0xA1]  # those of GB 2312
    letters = [code for code in everyday if code[0] >= 0xB0]
    num_commonest = sum(code[0] <= 0xD7 for code in letters)  # the 3,755 of its first level
    return (
        len(everyday) >= 0.5 * len(codes)
        and num_commonest >= 0.8 * len(letters)
        and not _NOT_CHINESE.search(text)
    )


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
