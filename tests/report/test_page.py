import base64
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grassvine.foundations.errors import InputError, OutputError
from grassvine.report.figure import Drawing
from grassvine.report.page import (
    Block,
    Bullets,
    Heading,
    Link,
    Paragraph,
    Picture,
    Table,
    Verdicts,
    to_html,
    to_markdown,
    write_page,
)
from grassvine.report.text import one_line

DRAWING = Drawing(png=b"\x89PNG", svg=b"<svg xmlns='http://www.w3.org/2000/svg'/>")
ANY = st.text() | st.sampled_from(
    [
        "<script>",
        "</title><script>",
        '" onload="x',
        "a|b",
        "\\|",
        "|",
        "\\",
        "&lt;",
        "-->",
        "\n",
        "\0",
    ]
)


def page(text: str) -> list[Block]:
    return [
        Heading(text),
        Heading(text, level=3),
        Paragraph(text),
        Bullets((text, "plain")),
        Link(text, "other"),
        Table((text, "n"), ((text, "1.5"), ("a", text)), caption=text),
        Picture("figure", text, DRAWING, caption=text),
        Verdicts(((text, True, text), ("b", False, "c"), ("d", None, ""))),
    ]


class Reader(HTMLParser):
    """Reads a page back; fails when tags do not nest."""

    def __init__(self, html: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.texts: dict[str, list[str]] = {}
        self.alts: list[str | None] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}
        self.alts += [value for name, value in attrs if name == "alt"]
        if tag not in ("meta", "img"):
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]][-1] += data


def cells(row: str) -> list[str]:
    """Cut a row of a pipe table where a pipe follows an even number of backslashes."""
    return re.findall(r"((?:\\.|[^|\\])*)\|", row)[1:]


@given(ANY)
def test_no_text_breaks_the_html(text: str) -> None:
    html = to_html(text, page(text))
    reader, plain = Reader(html), Reader(to_html("plain", page("plain")))
    assert "<script" not in html.lower()
    shown = one_line(text)
    captions = 2 if text else 0
    assert [tag for tag in reader.tags if "caption" not in tag] == [
        tag for tag in plain.tags if "caption" not in tag
    ]
    assert reader.names == plain.names
    assert sum("caption" in tag for tag in reader.tags) == captions
    assert reader.texts["title"] == reader.texts["h1"] == reader.texts["a"] == [shown]
    assert reader.texts["p"][0] == shown
    assert reader.texts["td"][0] == reader.texts["h2"][0] == shown and reader.alts == [shown]
    html.encode()


@given(st.lists(st.lists(ANY, min_size=3, max_size=3), min_size=1, max_size=4))
def test_rows_of_a_markdown_table_have_equally_many_cells(rows: list[list[str]]) -> None:
    lines = Table(rows[0], rows[1:]).markdown().split("\n")
    assert len(lines) == len(rows) + 1
    for line, row in zip([lines[0], *lines[2:]], rows, strict=True):
        read = [re.sub(r"\\(.)", r"\1", cell[1:-1]) for cell in cells(line)]
        assert read == [one_line(cell) for cell in row]
    assert len(cells(lines[1])) == 3


@given(ANY)
def test_no_text_breaks_the_markdown(text: str) -> None:
    lines = to_markdown(text, page(text)).split("\n")
    assert lines[0].startswith("#") and lines[0].count("\n") == 0
    assert sum(line.startswith("![") for line in lines) == 1
    assert not any(re.search(r"(?<!\\)(\\\\)*<", line) for line in lines)


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("# no heading", r"\# no heading"),
        ("- no item", r"\- no item"),
        ("+ no item", r"\+ no item"),
        ("12. no item", r"12\. no item"),
        ("3) no item", r"3\) no item"),
        ("> no quotation", r"\> no quotation"),
        ("    no code", "no code"),
        ("*no* _stress_ of n_slots", r"\*no\* \_stress\_ of n_slots"),
        (
            "[no](link) `code` $x$ <b> &lt; ~~a~~",
            r"\[no\](link) \`code\` \$x\$ \<b> \&lt; \~\~a\~\~",
        ),
        ("two\nlines", "two lines"),
        ("1.5 is - a > number", "1\\.5 is - a > number"),
    ],
)
def test_markdown_is_escaped_where_it_would_mean_something(text: str, markdown: str) -> None:
    assert Paragraph(text).markdown() == markdown


def test_a_page_in_markdown() -> None:
    blocks: list[Block] = [
        Heading("Results"),
        Bullets(("one", "two")),
        Table(("agent", "error"), (("1", "-0.5"), ("all", "–"), ("", "1e-3 ± 2e-4"))),
        Verdicts((("it converges", True, "1e-9"), ("it is fast", None, "not timed"))),
        Picture("curves", "two curves", DRAWING, "Error by slot."),
    ]
    assert to_markdown("A page", blocks) == (
        "# A page\n\n## Results\n\n- one\n- two\n\n"
        "| agent | error |\n| --- | ---: |\n| 1 | -0.5 |\n| all | – |\n|  | 1e-3 ± 2e-4 |\n\n"
        "| claim | verdict | evidence |\n| --- | --- | --- |\n"
        "| it converges | ✓ holds | 1e-9 |\n| it is fast | ? not decided | not timed |\n\n"
        "![two curves](curves.png)\n\n*Error by slot.*\n"
    )


def test_a_page_in_html_needs_nothing_else() -> None:
    html = to_html("title", page("text"))
    assert not re.search(r"https?:|//|url\(|@import|<link|<script", html.replace("+xml;base64", ""))
    assert html.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert '<meta name="viewport"' in html and "prefers-color-scheme: dark" in html
    assert base64.b64encode(DRAWING.svg).decode() in html


@pytest.mark.parametrize(
    "cell",
    ["1", "-0.5", "−3", "1e-13", "2.5E+3", "12,345", "99 %", "0.1 ± 0.02", "nan", "-inf", "–"],
)
def test_numbers_are_aligned_right(cell: str) -> None:
    assert f'<td class="number">{cell}</td>' in Table(("h",), ((cell,),)).html()
    assert '<th scope="col" class="number">h</th>' in Table(("h",), ((cell,),)).html()


@pytest.mark.parametrize("cell", ["", "agent 1", "1 of 6", "2026-01-31", "e5", ".", "v1.2.3"])
def test_words_are_aligned_left(cell: str) -> None:
    assert f"<td>{cell}</td>" in Table(("h",), ((cell,),)).html()


def test_verdicts_have_words_and_marks() -> None:
    html = Verdicts((("a", True, ""), ("b", False, ""), ("c", None, ""))).html()
    for mark in ("✓ holds", "✗ does not hold", "? not decided"):
        assert f">{mark}</td>" in html


def test_a_page_is_written_with_its_pictures(tmp_path: Path) -> None:
    blocks = page("text")
    paths = write_page(tmp_path / "new" / "folder", "index", "title", blocks)
    names = ["figure.png", "figure.svg", "index.md", "index.html"]
    assert [path.name for path in paths] == names
    assert sorted(path.name for path in paths[0].parent.iterdir()) == sorted(names)
    assert paths[0].read_bytes() == DRAWING.png and paths[1].read_bytes() == DRAWING.svg
    assert paths[2].read_text("utf-8") == to_markdown("title", blocks)
    assert paths[3].read_text("utf-8") == to_html("title", blocks)


def test_nothing_is_left_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here before")
    with pytest.raises(OutputError, match="choose another"):
        write_page(tmp_path / "file" / "folder", "index", "title", page("text"))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "here before"


def test_a_page_without_its_pictures_is_never_left(tmp_path: Path) -> None:
    (tmp_path / "figure.svg").mkdir()
    with pytest.raises(OutputError):
        write_page(tmp_path, "index", "title", page("text"))
    assert not list(tmp_path.glob("index.*"))


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a b", "a\n", "é"])
def test_names_of_files_are_plain(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a valid file name"):
        Picture(name, "alt", DRAWING)
    with pytest.raises(InputError, match="is not a valid file name"):
        write_page(tmp_path, name, "title", ())
    assert not list(tmp_path.iterdir())


def test_what_does_not_fit_together_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"row 1 .* 1 cells, but its header has 2"):
        Table(("a", "b"), (("1", "2"), ("3",)))
    with pytest.raises(InputError, match="from 2 to 6"):
        Heading("title", level=1)
    with pytest.raises(InputError, match="have the same name"):
        write_page(tmp_path, "index", "title", [Picture("same", "alt", DRAWING)] * 2)
