"""Pages of the site: each is in a table of contents, and links between files lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENERATED = {"_build", "api", "gallery"}
PAGES = [p for p in DOCS.rglob("*.md") if p.relative_to(DOCS).parts[0] not in GENERATED]


def listed(page: Path) -> set[Path]:
    """Return the pages in the tables of contents of a page."""
    found = set()
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text(), re.M | re.S):
        entries = [line for line in block.splitlines() if line and not line.startswith(":")]
        for entry in entries:
            target = re.sub(r".*<(.*)>", r"\1", entry)
            if target.split("/")[0] not in GENERATED:
                matches = list(page.parent.glob(f"{target}.md"))
                assert matches, f"{page.name} lists {target}, which does not exist"
                found |= set(matches)
    return found


def test_every_page_is_in_a_table_of_contents() -> None:
    found = set().union(*(listed(page) for page in PAGES))
    missing = {page.relative_to(DOCS).as_posix() for page in set(PAGES) - found}
    assert missing == {"index.md"}, "name the page in the toctree of the page that it belongs to"


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *PAGES], ids=lambda page: page.name)
def test_links_between_files_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)", page.read_text())
    for link in links:
        if not link.startswith("/"):  # of the site, which its build checks
            assert (page.parent / link).exists(), f"{page.name} links to {link}"
