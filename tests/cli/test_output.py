"""How commands print: tables in parts that fit."""

from __future__ import annotations

from rich.console import Console

from niulab.cli.output import fitted_tables

HEADER = ["", "agent", "value", "a long heading", "note"]
ROWS = [
    ["1", "1-3-2-6", "+0.25", "3", "[bold] words that go on " + "and on " * 8],
    ["2", "flat", "-1", "4", ""],
]


def printed(width, cells=(HEADER, ROWS)):
    parts = list(fitted_tables(cells, width, name="agent"))
    console = Console(width=width)
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    return len(parts), capture.get()


def test_what_fits_is_one_table_without_nameless_columns():
    n_parts, text = printed(160)
    assert n_parts == 1
    assert text.split("\n")[1].split() == ["agent", "value", "a", "long", "heading", "note"]
    assert "[bold] words" in text


def test_narrow_tables_come_in_parts_with_the_names_in_front():
    n_parts, text = printed(40)
    assert n_parts == 2
    assert text.count("1-3-2-6") == 2
    assert "…" not in text  # the wide note is wrapped


def test_a_table_of_names_alone_is_printed():
    n_parts, text = printed(40, (["agent"], [["flat"]]))
    assert n_parts == 1
    assert "flat" in text
