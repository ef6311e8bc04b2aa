"""Check a built site: no broken internal link, and nothing that is loaded from elsewhere.

    python tools/check_site.py docs/_build/html

Links to other sites are allowed, because they load nothing until a reader follows them.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"src", "srcset", "poster", "data", "action", "background"}  # and href of <link>, <use>
LOADING_TAGS = {"link", "use", "image", "base"}
HARMLESS_LINKS = {"canonical", "next", "prev", "index", "search", "author", "license", "up"}
IN_STYLES = re.compile(r"(?:url\(\s*|@import\s+)['\"]?((?:https?:)?//[^'\")\s]+)")
IN_SCRIPTS = re.compile(
    r"(?:import\s*\(?|importScripts\(|fetch\(|\.src\s*=|from)\s*['\"]((?:https?:)?//[^'\"]+)"
)


@dataclass
class Page(HTMLParser):
    """What a page defines, links to and loads."""

    names: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Collect the addresses in a tag."""
        given = {name: value for name, value in attributes if value is not None}
        self.names |= {given[name] for name in ("id", "name") if name in given}
        for name in LOADED & given.keys():
            several = given[name].split(",") if name == "srcset" else [given[name]]
            self.loaded += [part.split()[0] for part in several if part.split()]
        if "href" in given:
            loads = tag in LOADING_TAGS and given.get("rel") not in HARMLESS_LINKS
            (self.loaded if loads else self.links).append(given["href"])
        self.loaded += IN_STYLES.findall(given.get("style", ""))

    handle_startendtag = handle_starttag


def problems(root: Path) -> Iterator[str]:
    """Return a sentence for everything that is wrong."""
    pages = {
        path: _read(path)
        for path in sorted(root.rglob("*.html"))
        if path.relative_to(root).parts[0] != "_static"  # templates of the theme
    }
    if not pages:
        yield f"{root} contains no page."
    for path, page in pages.items():
        where = path.relative_to(root)
        text = path.read_text()
        for address in [*page.loaded, *IN_STYLES.findall(_styles(text)), *_imports(text)]:
            if _is_elsewhere(address):
                yield f"{where} loads {address}."
            elif not address.startswith("data:"):
                yield from _missing(root, path, address, pages)
        for address in page.links:
            if not _is_elsewhere(address) and not address.startswith(("mailto:", "javascript:")):
                yield from _missing(root, path, address, pages)
    for path in sorted([*root.rglob("*.css"), *root.rglob("*.js")]):
        pattern = IN_STYLES if path.suffix == ".css" else IN_SCRIPTS
        for address in pattern.findall(path.read_text(errors="replace")):
            yield f"{path.relative_to(root)} loads {address}."


def _read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text())
    return page


def _styles(text: str) -> str:
    return "".join(re.findall(r"<style.*?</style>", text, re.S))


def _imports(text: str) -> list[str]:
    return IN_SCRIPTS.findall("".join(re.findall(r"<script.*?</script>", text, re.S)))


def _is_elsewhere(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in {"http", "https", "ftp"}


def _missing(root: Path, path: Path, address: str, pages: dict[Path, Page]) -> Iterator[str]:
    parts = urlsplit(address)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(root) or not target.exists():
        yield f"{path.relative_to(root)} links to {address}, which does not exist."
    elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].names:
        yield f"{path.relative_to(root)} links to {address}, and there is no such place."


def main() -> None:
    """Check the folder named on the command line."""
    root = Path(sys.argv[1]).resolve()
    found = list(problems(root))
    n_pages = len(list(root.rglob("*.html")))
    print(*found, f"{n_pages} pages, {len(found)} problems", sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
