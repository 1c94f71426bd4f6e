"""What every report is made of: pages that need nothing else, and files written whole."""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path

from niulab.errors import ConfigError
from niulab.evaluation.tables import Cells, figure_columns

__all__ = ["html_image", "html_inline", "html_page", "html_table", "write_files"]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 76rem; margin: 2rem auto;
  padding: 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem;
  margin: 1rem 0; }
th, td { padding: .3rem .7rem; text-align: left; border-bottom: 1px solid #ddd;
  white-space: nowrap; }
th { border-bottom: 2px solid #222; vertical-align: bottom; }
.figure { text-align: right; }
tbody tr:hover { background: #f4f4f4; }
img { max-width: 100%; height: auto; }
code { background: #f2f2f2; padding: .1rem .3rem; }
dt { font-weight: 600; } dd { margin: 0 0 .4rem; }
.scroll { overflow-x: auto; }
.warning { border-left: .4rem solid #b00020; background: #fdecee; padding: .6rem 1rem;
  margin: 1rem 0; }
"""
_FIGURE = ' class="figure"'


def write_files(contents: Mapping[Path, str | bytes]) -> None:
    """Write files whole: all under other names first, then each moved into its place.

    Texts are written as UTF-8. Raises ConfigError where a file cannot be written.
    """
    written: list[tuple[str, Path]] = []
    try:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            written.append((name, path))
            with os.fdopen(handle, "wb") as stream:
                stream.write(content.encode() if isinstance(content, str) else content)
        umask = os.umask(0)
        os.umask(umask)
        for name, path in written:
            Path(name).chmod(0o666 & ~umask)  # mkstemp's own is private
            Path(name).replace(path)
    except OSError as error:
        raise ConfigError(
            f"cannot write '{error.filename or next(iter(contents))}': {error.strerror}; "
            "choose another folder for the report"
        ) from error
    finally:
        for name, _ in written:
            with suppress(OSError):
                Path(name).unlink(missing_ok=True)


def html_page(title: str, body: Iterable[str]) -> str:
    """One page around the pieces of a body: no scripts, no links, readable offline."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style></head>",
            "<body>",
            *body,
            "</body>",
            "</html>",
            "",
        ]
    )


def html_table(cells: Cells) -> str:
    """A table that scrolls sideways where it is wide; figures stand on the right."""
    header, rows = cells
    figures = figure_columns(cells)
    head = _table_row("th", header, figures)
    body = "\n".join(_table_row("td", row, figures) for row in rows)
    return f'<div class="scroll"><table><thead>{head}</thead>\n<tbody>{body}</tbody></table></div>'


def html_image(png: bytes, alt: str) -> str:
    """A picture inside the page itself."""
    data = base64.b64encode(png).decode("ascii")
    return f'<p><img alt="{escape(alt)}" src="data:image/png;base64,{data}"></p>'


def html_inline(text: str) -> str:
    """Markdown's backquotes as code elements, everything else escaped."""
    parts = escape(text).split("`")
    return "".join(
        f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts)
    )


def _table_row(tag: str, texts: Sequence[str], figures: Sequence[bool]) -> str:
    cells = (
        f"<{tag}{_FIGURE if is_figure else ''}>{escape(text)}</{tag}>"
        for text, is_figure in zip(texts, figures, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"
