"""Pages: sequences of blocks that are rendered as HTML and as Markdown.

All text is plain text; characters with a meaning in HTML or Markdown are escaped.
"""

import base64
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TypeAlias

from grassvine.foundations.errors import InputError
from grassvine.foundations.files import make_folder, write_whole
from grassvine.report.figure import Drawing
from grassvine.report.text import one_line

NUMBER = re.compile(
    r"[-+−]?(\d[\d ,_]*\.?\d*|\.\d+)(e[-+−]?\d+)?\s*%?|[-+−]?(nan|inf|∞)|[-–—]", re.IGNORECASE
)
VERDICTS = {True: "✓ holds", False: "✗ does not hold", None: "? not decided"}
CLASSES = {True: "holds", False: "fails", None: "open"}
STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --quiet: #555; --paper: #fff; --line: #ccc;
  --shade: #f4f4f4; --holds: #176b2c; --fails: #a3201a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --quiet: #aaa; --paper: #16181b;
  --line: #444; --shade: #222529; --holds: #7fd693; --fails: #ff9a92; } }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
h1, h2, h3, h4, h5, h6 { line-height: 1.25; margin: 1.8em 0 0.6em; break-after: avoid; }
h1 { margin-top: 0; }
p, li { max-width: 46rem; }
.scroll { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.92rem; }
caption { text-align: left; color: var(--quiet); padding-bottom: 0.4rem; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.6rem;
  border-bottom: 1px solid var(--line); overflow-wrap: normal; }
thead th { background: var(--shade); }
tbody th { font-weight: inherit; }
.number { text-align: right; white-space: nowrap; }
.holds, .fails, .open { font-weight: 600; white-space: nowrap; }
.holds { color: var(--holds); }
.fails { color: var(--fails); }
figure { margin: 1.5rem 0; break-inside: avoid; }
figure img { display: block; max-width: 100%; height: auto; box-sizing: border-box;
  background: #fff; padding: 0.6rem; border: 1px solid var(--line); border-radius: 0.4rem; }
figcaption { color: var(--quiet); margin-top: 0.5rem; max-width: 46rem; }
@media print { body { max-width: none; margin: 0; } .scroll { overflow: visible; }
  tr { break-inside: avoid; } }
"""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; level 1 is the title of the page."""

    text: str
    level: int = 2

    def __post_init__(self) -> None:
        if self.level not in range(2, 7):
            raise InputError(f"the level of a heading is {self.level}; pass one from 2 to 6.")

    def html(self) -> str:
        """Render as HTML."""
        return f"<h{self.level}>{_html(self.text)}</h{self.level}>"

    def markdown(self) -> str:
        """Render as Markdown."""
        return f"{'#' * self.level} {_markdown(self.text)}".rstrip()


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of text."""

    text: str

    def html(self) -> str:
        """Render as HTML."""
        return f"<p>{_html(self.text)}</p>"

    def markdown(self) -> str:
        """Render as Markdown."""
        return _markdown(self.text)


@dataclass(frozen=True, slots=True)
class Link:
    """A link to another page in the same folder."""

    text: str
    stem: str

    def __post_init__(self) -> None:
        _check_name(self.stem)

    def html(self) -> str:
        """Render as HTML."""
        return f'<p><a href="{self.stem}.html">{_html(self.text)}</a></p>'

    def markdown(self) -> str:
        """Render as Markdown."""
        return f"[{_escaped(self.text)}]({self.stem}.md)"


@dataclass(frozen=True, slots=True)
class Bullets:
    """A bulleted list."""

    items: Sequence[str]

    def html(self) -> str:
        """Render as HTML."""
        return "<ul>\n" + "".join(f"<li>{_html(item)}</li>\n" for item in self.items) + "</ul>"

    def markdown(self) -> str:
        """Render as Markdown."""
        return "\n".join(f"- {_markdown(item)}" for item in self.items)


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a header; columns of numbers are right-aligned."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    def __post_init__(self) -> None:
        for index, row in enumerate(self.rows):
            if len(row) != len(self.header):
                raise InputError(
                    f"row {index} of a table has {len(row)} cells, but its header has "
                    f"{len(self.header)}; pass one cell per column."
                )

    def html(self) -> str:
        """Render as HTML."""
        head = [
            f'<th scope="col"{_aligned(number)}>{_html(name)}</th>'
            for name, number in zip(self.header, self._numbers(), strict=True)
        ]
        body = [
            [f"<td{_aligned(_is_number(cell))}>{_html(cell)}</td>" for cell in row]
            for row in self.rows
        ]
        return _html_table(head, body, self.caption)

    def markdown(self) -> str:
        """Render as Markdown."""
        rules = ["---:" if number else "---" for number in self._numbers()]
        cells = [[_escaped(cell) for cell in row] for row in (self.header, *self.rows)]
        lines = [f"| {' | '.join(line)} |" for line in (cells[0], rules, *cells[1:])]
        return _captioned("\n".join(lines), self.caption)

    def _numbers(self) -> list[bool]:
        """Return for each column whether all its non-empty cells are numbers."""
        columns = [[row[index] for row in self.rows] for index in range(len(self.header))]
        return [any(column) and all(map(_is_number, filter(None, column))) for column in columns]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Claims, whether each one holds (None if undecided), and the evidence."""

    rows: Sequence[tuple[str, bool | None, str]]

    def html(self) -> str:
        """Render as HTML."""
        head = [f'<th scope="col">{name}</th>' for name in ("claim", "verdict", "evidence")]
        body = [
            [
                f'<th scope="row">{_html(claim)}</th>',
                f'<td class="{CLASSES[holds]}">{VERDICTS[holds]}</td>',
                f"<td>{_html(evidence)}</td>",
            ]
            for claim, holds, evidence in self.rows
        ]
        return _html_table(head, body, "")

    def markdown(self) -> str:
        """Render as Markdown."""
        rows = [(claim, VERDICTS[holds], evidence) for claim, holds, evidence in self.rows]
        return Table(("claim", "verdict", "evidence"), rows).markdown()


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing with its file name, alternative text and caption."""

    name: str
    alt: str
    drawing: Drawing
    caption: str = ""

    def __post_init__(self) -> None:
        _check_name(self.name)

    def html(self) -> str:
        """Render as HTML."""
        # Not inlined, because ids in different drawings may clash.
        data = base64.b64encode(self.drawing.svg).decode()
        image = f'<img alt="{_html(self.alt)}" src="data:image/svg+xml;base64,{data}">'
        caption = f"\n<figcaption>{_html(self.caption)}</figcaption>" if self.caption else ""
        return f"<figure>\n{image}{caption}\n</figure>"

    def markdown(self) -> str:
        """Render as Markdown."""
        return _captioned(f"![{_escaped(self.alt)}]({self.name}.png)", self.caption)


Block: TypeAlias = Heading | Paragraph | Link | Bullets | Table | Verdicts | Picture


def to_html(title: str, blocks: Sequence[Block]) -> str:
    """Render a self-contained page without external files, links or scripts."""
    body = "\n".join(block.html() for block in blocks)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_html(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{_html(title)}</h1>
{body}
</main>
</body>
</html>
"""


def to_markdown(title: str, blocks: Sequence[Block]) -> str:
    """Render a page that refers to PNG files in the same folder."""
    parts = [f"# {_markdown(title)}".rstrip(), *(block.markdown() for block in blocks)]
    return "\n\n".join(parts) + "\n"


def write_page(
    folder: str | os.PathLike[str], stem: str, title: str, blocks: Sequence[Block]
) -> tuple[Path, ...]:
    """Write the pictures and the page in both formats, and return the paths."""
    _check_name(stem)
    pictures = [block for block in blocks if isinstance(block, Picture)]
    names = [picture.name for picture in pictures]
    if len(set(names)) < len(names):
        raise InputError(
            f"two pictures of a page have the same name: {', '.join(names)}; rename one."
        )
    files = {f"{picture.name}.png": picture.drawing.png for picture in pictures}
    files |= {f"{picture.name}.svg": picture.drawing.svg for picture in pictures}
    files[f"{stem}.md"] = to_markdown(title, blocks).encode()
    files[f"{stem}.html"] = to_html(title, blocks).encode()
    target = make_folder(folder)
    return tuple(write_whole(target / name, data) for name, data in files.items())


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name):
        raise InputError(
            f"{name!r} is not a valid file name; use letters, digits, '_', '-' and '.'."
        )


def _is_number(cell: str) -> bool:
    return all(NUMBER.fullmatch(part.strip()) for part in cell.split("±"))


def _aligned(number: bool) -> str:
    return ' class="number"' if number else ""


def _html(text: str) -> str:
    return escape(one_line(text))


def _html_table(head: Sequence[str], body: Sequence[Sequence[str]], caption: str) -> str:
    rows = "\n".join(f"<tr>{''.join(row)}</tr>" for row in body)
    element = f"<caption>{_html(caption)}</caption>\n" if caption else ""
    name = _html(caption) if caption else "table"
    return f"""<div class="scroll" role="region" tabindex="0" aria-label="{name}">
<table>
{element}<thead><tr>{"".join(head)}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</div>"""


def _escaped(text: str) -> str:
    """Escape Markdown characters, except underscores inside words."""
    return re.sub(r"([\\`*\[\]<#|~&$]|(?<![^\W_])_|_(?![^\W_]))", r"\\\1", one_line(text))


def _markdown(text: str) -> str:
    """Escape Markdown characters, also those that are special at the start of a line."""
    return re.sub(r"^([-+=>]|\d+(?=[.)]))", _escape_start, _escaped(text))


def _escape_start(start: re.Match[str]) -> str:
    return f"{start[0]}\\" if start[0].isdigit() else f"\\{start[0]}"


def _captioned(block: str, caption: str) -> str:
    return f"{block}\n\n*{_escaped(caption)}*" if one_line(caption) else block
