"""DuckDB as the store uses it: bounded memory, a folder to spill to, and files as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from niulab.errors import PlayLogError
from niulab.parallel import available_cores

__all__ = [
    "DEFAULT_MEMORY",
    "ROWS_OF_GROUP",
    "column_list",
    "database",
    "memory_bytes",
    "parquet",
    "rows_of",
]

DEFAULT_MEMORY = "2GB"
ROWS_OF_GROUP = 122_880
_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
_LEAST = 128_000_000
_BYTES_A_THREAD = 256_000_000  # each holds blocks of its own


def memory_bytes(text: str) -> int:
    """Bytes of a size as ``2GB`` or ``512MiB``. Raises PlayLogError for one that cannot be."""
    word = text.strip().upper()
    unit = next((unit for unit in _UNITS if word.endswith(unit)), None)
    try:
        size = int(float(word.removesuffix(unit or "")) * _UNITS[unit or ""])
    except (KeyError, ValueError, OverflowError):
        raise PlayLogError(f"a memory limit is a size as 2GB or 512MB, got '{text}'") from None
    if size < _LEAST:
        raise PlayLogError(f"a memory limit is at least 128MB, got '{text}': write 128MB or more")
    return size


@contextmanager
def database(
    spill: Path, *, memory: str = DEFAULT_MEMORY, threads: int | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory that spills to a folder beyond a memory limit.

    Raises PlayLogError for a file that cannot be read or written, or a full disk.
    """
    size = memory_bytes(memory)
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{size}B",
        "temp_directory": str(spill),
        "threads": max(1, min(threads or available_cores(), size // _BYTES_A_THREAD)),
        "preserve_insertion_order": True,
        "autoinstall_known_extensions": False,  # no call to the outside
        "autoload_known_extensions": False,
    }
    connection = duckdb.connect(":memory:", config=settings)
    try:
        connection.execute("SET enable_progress_bar = false")  # it would print on stdout
        yield connection
    except duckdb.IOException as error:
        told = str(error).splitlines()[0].removeprefix("IO Error: ")[:300]
        raise PlayLogError(
            f"cannot use a file of the store: {told}; make room or mend the file, then the same "
            "command goes on"
        ) from error
    finally:
        connection.close()


def column_list(names: Sequence[str], prefix: str = "") -> str:
    """Names as SQL writes them, quoted, since ``table`` and ``double`` are words of SQL."""
    return ", ".join(f'{prefix}"{name}"' for name in names)


def parquet(paths: Sequence[Path], schema: pa.Schema, *, names: bool = False) -> str:
    """What stands behind FROM for rows of files; no rows at all if there is none.

    names: with a column ``filename``.
    """
    if paths:
        listed = ", ".join(f"'{_literal(path)}'" for path in paths)
        return f"read_parquet([{listed}], hive_partitioning=false, filename={str(names).lower()})"
    empty = ", ".join(f'NULL::{_sql_type(field.type)} AS "{field.name}"' for field in schema)
    empty += ", NULL::VARCHAR AS filename" if names else ""
    return f"(SELECT {empty} WHERE false)"


def rows_of(path: Path) -> int:
    """Rows of a Parquet file, from its footer."""
    n: int = pq.read_metadata(path).num_rows
    return n


def _literal(path: Path) -> str:
    """A path as SQL writes it, with signs that would be patterns taken as they are."""
    text = "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(path))
    return text.replace("'", "''")


def _sql_type(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind):
        return "VARCHAR"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMPTZ"
    if pa.types.is_binary(kind):
        return "BLOB"
    names = {
        pa.int8(): "TINYINT",
        pa.int32(): "INTEGER",
        pa.int64(): "BIGINT",
        pa.uint8(): "UTINYINT",
        pa.uint16(): "USMALLINT",
        pa.bool_(): "BOOLEAN",
    }
    return names[kind]
