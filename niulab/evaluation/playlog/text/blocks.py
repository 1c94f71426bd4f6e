"""Bytes into blocks of whole lines, in bounded memory: compression, encodings, line ends."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from niulab.errors import PlayLogError

__all__ = ["MOST_BLOCK_BYTES", "MOST_LINE_BYTES", "Block", "Source", "Span", "line_text"]

MOST_LINE_BYTES = 1 << 20
"""A longer line is no row."""

MOST_BLOCK_BYTES = 1 << 26
"""Lines that are together longer than this stand in several blocks, however few they are."""

_PIECE = 1 << 22
_STEP = 1 << 16  # of a compressed file: what a fault inside a step costs
_SHOWN = 4096  # bytes kept of a line nobody can hold
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_DAMAGED = (EOFError, zlib.error, OSError)


@dataclass(frozen=True)
class Block:
    """Consecutive lines. ``is_cut``: the last line has no end, since the source stops there;
    ``is_damaged``: and it stops before its end; ``is_overlong``: one line of which only the start
    is kept.
    """

    data: bytes
    first_line: int
    n_lines: int
    is_cut: bool = False
    is_damaged: bool = False
    is_overlong: bool = False


@dataclass(frozen=True)
class Span:
    """Bytes of a plain file from the begin of a line: ``start`` up to ``stop`` (None: its end)."""

    start: int = 0
    stop: int | None = None
    first_line: int = 1


class Source:
    """One flat log on disk, or a span of it; ``blocks`` reads it once, ``warnings`` says what was
    found.
    """

    def __init__(self, path: Path, encoding: str | None = None, span: Span | None = None) -> None:
        self.path = path
        self.span = span or Span()
        self.encoding = encoding
        self.warnings: dict[str, int] = {}
        self._is_damaged = self._is_packed = False
        if encoding is not None:
            try:
                b"12".decode(encoding, "replace")  # refuses codecs that are not of text, too
            except (LookupError, ValueError):
                message = f"no encoding '{encoding}'; write utf-8, utf-16 or windows-1252"
                raise PlayLogError(message) from None

    def blocks(self, rows: int) -> Iterator[Block]:
        """Blocks of ``rows`` lines (fewer of very long lines, and at the end)."""
        parts: list[bytes] = []
        n_ends = size = 0
        line = self.span.first_line
        is_skipping = False
        for piece in self._pieces_with_line_feeds():
            if is_skipping:
                _, found, piece = piece.partition(b"\n")  # noqa: PLW2901 - the rest is the piece
                is_skipping = not found
            n_before, size_before = n_ends, size
            parts.append(piece)
            n_ends += piece.count(b"\n")
            size += len(piece)
            if n_ends < rows and size < MOST_BLOCK_BYTES:
                continue
            held = b"".join(parts)
            if not n_ends:
                yield Block(held[:_SHOWN], line, 1, is_overlong=True)
                line += 1
                parts, size, is_skipping = [], 0, True
                continue
            ends = np.flatnonzero(np.frombuffer(piece, dtype=np.uint8) == ord("\n")) + 1
            start = done = 0
            while n_ends - done >= rows or (size - start >= MOST_BLOCK_BYTES and n_ends > done):
                n = min(rows, n_ends - done)
                place = done + n - 1 - n_before  # of its end among those of the last piece
                stop = size_before + int(ends[place]) if place >= 0 else held.rfind(b"\n") + 1
                yield Block(held[start:stop], line, n)
                line, start, done = line + n, stop, done + n
            parts, size, n_ends = [held[start:]], size - start, n_ends - done
        rest = b"".join(parts)
        if rest:
            is_cut = not rest.endswith(b"\n")
            yield Block(rest, line, n_ends + is_cut, is_cut, self._is_damaged)

    def _pieces_with_line_feeds(self) -> Iterator[bytes]:
        """Pieces whose lines end in LF: a file without LF and with CR ends its lines so."""
        is_first, swaps = self.span.start == 0, False
        for piece in self._pieces_of_utf8():
            if is_first:
                is_first, swaps = False, _ends_in_cr(piece)
            yield piece.replace(b"\r", b"\n") if swaps else piece

    def _pieces_of_utf8(self) -> Iterator[bytes]:
        """Pieces of UTF-8; what was not declared and is neither UTF-16 nor marked stays as it is
        (``line_text`` decides line by line).
        """
        decoder = None
        is_first = self.span.start == 0
        for piece in self._pieces():
            if is_first:
                is_first = False
                encoding, n_mark = self._encoding_of(piece)
                piece = piece[n_mark:]  # noqa: PLW2901 - without the mark
                if encoding != "utf-8":
                    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
            yield decoder.decode(piece).encode("utf-8", "replace") if decoder else piece
        if decoder:
            yield decoder.decode(b"", final=True).encode("utf-8", "replace")

    def is_plain(self) -> bool:
        """Whether lines can be read from any of them on: neither packed nor to be decoded."""
        first = next(self._pieces(), b"")
        if self._is_packed or _ends_in_cr(first):
            return False
        return self._encoding_of(first)[0] == "utf-8"

    def _encoding_of(self, start: bytes) -> tuple[str, int]:
        """The encoding, and how long the mark at the start is."""
        declared = None if self.encoding is None else codecs.lookup(self.encoding).name
        for mark, encoding in _BOMS.items():
            if start.startswith(mark) and declared in {None, encoding, "utf-8-sig", "utf-16"}:
                return encoding, len(mark)
        if declared is not None:
            return {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}.get(declared, declared), 0
        even, odd = start[:4096:2].count(0), start[1:4096:2].count(0)
        if min(len(start), 4096) >= 8 and max(even, odd) > 0.4 * min(len(start), 4096) / 2:
            if even < odd / 4:
                return "utf-16-le", 0
            if odd < even / 4:
                return "utf-16-be", 0
        return "utf-8", 0

    def _pieces(self) -> Iterator[bytes]:
        try:
            file = self.path.open("rb")
        except OSError as error:
            raise PlayLogError(f"cannot read '{self.path}': {error.strerror}") from None
        with file:
            kind = b"" if self.span.start else file.read(4)
            file.seek(self.span.start)
            stream = _opened(file, kind)
            self._is_packed = stream is not file
            size = _STEP if self._is_packed else _PIECE
            left = None if self.span.stop is None else self.span.stop - self.span.start
            while left is None or left > 0:
                try:
                    piece = stream.read(size if left is None else min(size, left))
                except _DAMAGED as error:
                    if stream is file:
                        raise PlayLogError(f"cannot read '{self.path}': {error}") from None
                    self._is_damaged = True
                    self.warnings["the compressed file is damaged: nothing after it was read"] = 1
                    return
                if not piece:
                    return
                left = None if left is None else left - len(piece)
                yield piece


def _ends_in_cr(piece: bytes) -> bool:
    return b"\r" in piece and b"\n" not in piece


def _opened(file: IO[bytes], kind: bytes) -> Any:
    if kind.startswith(_GZIP):
        return _Gzip(file)
    if kind == _ZSTD:
        import pyarrow as pa

        return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
    return file


class _Gzip:
    """Members of a gzip file one after the other; all that can be decoded before a fault is."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._member = zlib.decompressobj(wbits=31)
        self._held = b""
        self._is_inside = False

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes, none at the end. Raises EOFError or zlib.error."""
        while True:
            self._held = self._held or self._file.read(1 << 16)
            if not self._held:
                if self._is_inside:
                    raise EOFError
                return b""
            if not self._is_inside and not self._held.strip(b"\0"):
                self._held = b""  # padding after a member
                continue
            self._is_inside = True
            part = self._member.decompress(self._held, size)
            self._held = self._member.unconsumed_tail
            if self._member.eof:
                self._held = self._member.unused_data
                self._member = zlib.decompressobj(wbits=31)
                self._is_inside = False
            if part:
                return part


def line_text(line: bytes) -> tuple[str, bool]:
    """A line as text, and whether it is UTF-8: what is not is read as Windows-1252."""
    try:
        return line.decode("utf-8"), True
    except UnicodeDecodeError:
        return line.decode("cp1252", errors="replace"), False
