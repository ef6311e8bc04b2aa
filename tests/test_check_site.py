"""tools/check_site.py finds broken links, and what a page would load from another host."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOUND = """
<link rel="stylesheet" href="style.css"><script src="script.js"></script>
<link rel="canonical" href="https://example.org/">
<p id="here"><img src="data:image/png;base64,AA=="><a href="#here">here</a>
<a href="other.html#there">there</a><a href="https://example.org/">elsewhere</a></p>
"""


def check(folder: Path, page: str, style: str = "", script: str = "") -> tuple[int, str]:
    """Write a site of two pages and check it."""
    (folder / "index.html").write_text(page)
    (folder / "other.html").write_text('<h1 id="there">There</h1>')
    (folder / "style.css").write_text(style)
    (folder / "script.js").write_text(script)
    tool = [sys.executable, str(ROOT / "tools" / "check_site.py"), str(folder)]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_sound_site_passes(tmp_path: Path) -> None:
    assert check(tmp_path, SOUND) == (0, "2 pages, 0 problems\n")


@pytest.mark.parametrize(
    ("tag", "problem"),
    [
        ('<a href="missing.html">', "links to missing.html, which does not exist"),
        ('<a href="../secret.html">', "links to ../secret.html, which does not exist"),
        ('<a href="other.html#nowhere">', "links to other.html#nowhere, and there is no such"),
        ('<a href="#nowhere">', "links to #nowhere, and there is no such place"),
        ('<img src="missing.png">', "links to missing.png, which does not exist"),
        ('<img src="https://cdn.example/a.png">', "loads https://cdn.example/a.png"),
        ('<img srcset="a.png 1x, //cdn.example/b.png 2x">', "loads //cdn.example/b.png"),
        ('<script src="https://cdn.example/a.js"></script>', "loads https://cdn.example/a.js"),
        ('<link rel="stylesheet" href="//cdn.example/a.css">', "loads //cdn.example/a.css"),
        ('<style>@import "https://cdn.example/a.css";</style>', "loads https://cdn.example/a.css"),
        ('<p style="background: url(//cdn.example/a.png)">', "loads //cdn.example/a.png"),
        ('<script>import("https://cdn.example/a.js")</script>', "loads https://cdn.example/a.js"),
    ],
)
def test_what_is_wrong_with_a_page_is_found(tmp_path: Path, tag: str, problem: str) -> None:
    status, text = check(tmp_path, SOUND + tag)
    assert status == 1 and f"index.html {problem}" in text


def test_what_styles_and_scripts_load_is_found(tmp_path: Path) -> None:
    style = "@font-face { src: url('https://fonts.example/a.woff2'); }"
    status, text = check(tmp_path, SOUND, style, 'fetch("https://api.example/version")')
    assert status == 1
    assert "style.css loads https://fonts.example/a.woff2." in text
    assert "script.js loads https://api.example/version." in text


def test_an_empty_folder_is_no_site(tmp_path: Path) -> None:
    tool = [sys.executable, str(ROOT / "tools" / "check_site.py"), str(tmp_path)]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "contains no page" in done.stdout
