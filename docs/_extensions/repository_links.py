"""Links of Markdown pages of the repository, such as the README, that pages here include.

They are relative to the repository, so that they work where the files are read. Here, links to
pages of the site become such links; all others lead to the file in the repository.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

LINK = re.compile(r"\]\((?P<path>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")
PAGES = {
    "README.md": "/index.md",
    "CONTRIBUTING.md": "/contributing.md",
    "CHANGELOG.md": "/changelog.md",
    "SECURITY.md": "/security.md",
    "docs/decisions": "/decisions/index.md",
    "examples": "/gallery/index.rst",
}


def setup(app: Sphinx) -> dict[str, object]:
    """Rewrite links of pages when they are read, and of files when they are included."""
    app.add_config_value("repository", "", "env")
    app.connect("source-read", lambda app, name, source: rewrite_page(app, name, source))
    app.connect("include-read", lambda app, path, parent, source: rewrite(app, path, source))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def rewrite_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Rewrite the links of a page."""
    path = Path(app.env.doc2path(name, base=False))
    if path.suffix == ".md":
        rewrite(app, "docs" / path, source)


def rewrite(app: Sphinx, path: Path, source: list[str]) -> None:
    """Rewrite the links of a file, given by its path."""
    root = Path(app.srcdir).parent
    folder = (Path(app.srcdir) / path if not str(path).startswith("docs") else root / path).parent
    source[0] = LINK.sub(lambda link: target(link, root, folder, app.config.repository), source[0])


def target(link: re.Match[str], root: Path, folder: Path, repository: str) -> str:
    """Return a link with its target on the site, or in the repository."""
    path, anchor = (folder / link["path"]).resolve(), link["anchor"] or ""
    if not path.is_relative_to(root) or not path.exists():
        return link[0]  # a broken link, which Sphinx reports
    name = path.relative_to(root).as_posix()
    if name in PAGES:
        return f"]({PAGES[name]}{anchor})"
    if name.startswith("docs/") and path.is_file():
        return f"](/{name.removeprefix('docs/')}{anchor})"
    if name.startswith("examples/") and path.suffix == ".py" and path.parent.name == "examples":
        return f"](/gallery/{path.stem}.rst)"
    return f"]({repository}/{'tree' if path.is_dir() else 'blob'}/main/{name}{anchor})"
