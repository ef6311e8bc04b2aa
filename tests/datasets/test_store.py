import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.datasets.rating_files import (
    MOVIELENS,
    ROWS,
    as_dict,
    jester_line,
    ratings_dat,
    wanted,
    write_netflix,
)
from tests.real_data import FOLDER

from grassvine.datasets import (
    SOURCES,
    Source,
    fetch,
    load_ratings,
    load_tasks,
    locate,
    read_movielens,
    read_ratings_file,
    store,
)
from grassvine.foundations.errors import DataError, OutputError

CONTENT = ratings_dat(ROWS)
TINY = Source(
    name="tiny",
    title="Tiny",
    read=read_movielens,
    counts={"ratings": 5, "users": 3, "items": 3},
    folders=("tiny", "tiny-2000"),
    files=("ratings.dat",),
    terms="none",
    by_hand="Write it yourself.",
)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The folder of the variable and the cache, both empty."""
    given, cache = tmp_path / "given", tmp_path / "cache"
    given.mkdir()
    monkeypatch.setenv("GRASSVINE_DATA", str(given))
    monkeypatch.setattr(store, "cache_folder", lambda: cache)
    monkeypatch.setitem(SOURCES, "tiny", TINY)
    return given, cache


def put(folder: Path, content: str = CONTENT) -> Path:
    folder.mkdir(parents=True)
    (folder / "ratings.dat").write_text(content)
    return folder


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_data_set_is_looked_for_in_the_variable_s_folder_then_in_the_cache(
    places: tuple[Path, Path],
) -> None:
    given, cache = places
    cached = put(cache / "tiny")
    assert locate("tiny") == cached
    (given / "tiny").mkdir()  # an empty folder is no data set
    assert locate("tiny") == cached
    assert locate("tiny", put(given / "tiny-2000")) == locate("tiny") == given / "tiny-2000"
    assert locate("tiny", cached / "ratings.dat") == cached / "ratings.dat"
    assert as_dict(load_ratings("tiny")) == wanted(ROWS)


def test_the_cache_is_grassvine_s_own() -> None:
    assert store.cache_folder().parts[-2:] == ("grassvine", "data")


def test_the_variable_may_be_unset_or_begin_at_home(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    given, _ = places
    monkeypatch.setenv("HOME", str(given))
    monkeypatch.setenv("GRASSVINE_DATA", "~")
    placed = put(given / "tiny")
    assert locate("tiny") == placed
    monkeypatch.delenv("GRASSVINE_DATA")
    with pytest.raises(
        DataError, match=r"Tiny not found at .*cache.tiny \(GRASSVINE_DATA is not set"
    ):
        locate("tiny")


def test_where_it_is_nowhere_both_ways_to_get_it_are_reported(places: tuple[Path, Path]) -> None:
    with pytest.raises(
        DataError,
        match=r"MovieLens 1M not found at .*given.ml-1m, .*cache.ml-1m; run 'grassvine data fetch "
        r"ml-1m', or get it by hand: Download ml-1m\.zip from",
    ):
        load_ratings("ml-1m")
    with pytest.raises(
        DataError, match=r"School .* not found at .*; get it by hand: Put school\.mat"
    ):
        load_tasks("school")
    with pytest.raises(DataError, match=r"nowhere does not exist; use u\.data of MovieLens 100K"):
        locate("ml-100k", "nowhere")


def test_names_are_checked() -> None:
    for function in (locate, load_ratings, load_tasks, fetch):
        with pytest.raises(DataError, match="unknown data set 'ml1m'; did you mean 'ml-1m'"):
            function("ml1m")
    with pytest.raises(DataError, match=r"contains tasks, not ratings; use load_tasks\('school'\)"):
        load_ratings("school")
    with pytest.raises(
        DataError, match=r"contains ratings, not tasks; use load_ratings\('ml-1m'\)"
    ):
        load_tasks("ml-1m")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (ratings_dat(ROWS[:4]), "tiny has 4 ratings, but Tiny has 5; it is truncated, modified or"),
        (CONTENT.replace("19::", "7::").replace("7::5", "7::11", 1), "has 2 users, but Tiny has 3"),
        (CONTENT.replace("::11::", "::5::"), "has 2 items, but Tiny has 3"),
    ],
)
def test_other_counts_than_the_published_are_refused(
    places: tuple[Path, Path], content: str, message: str
) -> None:
    path = put(places[0] / "tiny", content)
    for given in (None, path):
        with pytest.raises(DataError, match=message):
            load_ratings("tiny", given)


def test_an_altered_file_with_the_published_counts_is_refused(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = hashlib.sha256(CONTENT.encode()).hexdigest()
    monkeypatch.setitem(SOURCES, "tiny", replace(TINY, sha256=digest))
    path = put(places[0] / "tiny")
    load_ratings("tiny")
    altered = CONTENT.replace("::4::", "::3::")
    (path / "ratings.dat").write_text(altered)
    found = hashlib.sha256(altered.encode()).hexdigest()
    with pytest.raises(
        DataError, match=f"counts of Tiny but was modified: .*{found}, not {digest}"
    ):
        load_ratings("tiny", path / "ratings.dat")


@pytest.mark.parametrize("name", ["ml-100k", "ml-1m", "jester-1", "school", "parkinsons"])
def test_the_published_files_are_accepted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRASSVINE_DATA", str(FOLDER))
    if store.find(SOURCES[name], [FOLDER]) is None:
        pytest.skip(f"{name} is absent; set GRASSVINE_DATA to the folder of the data sets")
    if "ratings" in SOURCES[name].counts:
        load_ratings(name)
    else:
        load_tasks(name)


def test_ratings_without_a_name_are_read_in_whatever_form_they_are(tmp_path: Path) -> None:
    for name, write in MOVIELENS.items():
        (tmp_path / name[:4]).write_text(write(ROWS))
        assert as_dict(read_ratings_file(tmp_path / name[:4])) == wanted(ROWS)
    assert as_dict(read_ratings_file(put(tmp_path / "ml"))) == wanted(ROWS)
    for form in ("mv", "combined"):
        folder = write_netflix(tmp_path / form, ROWS, form)
        assert as_dict(read_ratings_file(folder)) == wanted(ROWS)
    (tmp_path / "laughs").write_text(jester_line({4: 2.5}))
    assert as_dict(read_ratings_file(tmp_path / "laughs")) == {(1, 4): 2.5}


def test_a_file_of_no_known_form_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="x is not a MovieLens file"):
        read_ratings_file(tmp_path / "x")
    with pytest.raises(DataError, match=r"does not exist; use u\.data or .* of published ratings"):
        read_ratings_file(tmp_path / "y")


@dataclass
class Server:
    """Answers to requests, by path, and the paths that were asked for."""

    port: int = 0
    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def serve(
        self, body: bytes, *, code: int = 200, headers: dict[str, str] | None = None
    ) -> Source:
        """Let the server answer with this body, and return the source of it."""
        self.answers["/tiny.zip"] = code, headers or {}, body
        return replace(
            TINY,
            address=f"http://127.0.0.1:{self.port}/tiny.zip",
            checksum=f"md5:{hashlib.md5(body).hexdigest()}",
            largest_download=len(body),
            member="tiny/ratings.dat",
        )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    told = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.asked.append(self.path)
            code, headers, body = told.answers[self.path]
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        told.port = listening.server_port
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield told
        listening.shutdown()
        thread.join()


def zipped(members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


SOUND = zipped({"tiny/README": "words", "tiny/ratings.dat": CONTENT, "../evil": "x"})


def get(source: Source, folder: Path | None = None, **options: object) -> Path:
    return store.fetch_source(source, folder, scheme="http", **options)  # type: ignore[arg-type]


def test_what_is_fetched_is_unpacked_and_nothing_else_is_left(
    places: tuple[Path, Path], server: Server
) -> None:
    _, cache = places
    source = server.serve(SOUND, headers={"Content-Length": str(len(SOUND))})
    told: list[tuple[int, int | None]] = []
    path = get(source, progress=lambda done, total: told.append((done, total)))
    assert path == cache / "tiny" == locate("tiny")
    assert as_dict(load_ratings("tiny")) == wanted(ROWS)
    assert tree(cache.parent) == ["cache", "cache/tiny", "cache/tiny/ratings.dat", "given"]
    assert told == [(len(SOUND), len(SOUND))]


def test_a_file_that_is_no_archive_is_fetched_as_it_is(tmp_path: Path, server: Server) -> None:
    source = replace(server.serve(CONTENT.encode()), member=None)
    assert as_dict(read_movielens(get(source, tmp_path))) == wanted(ROWS)
    assert tree(tmp_path) == ["tiny", "tiny/ratings.dat"]


def test_a_sound_copy_is_not_fetched_again(places: tuple[Path, Path], server: Server) -> None:
    source = server.serve(SOUND)
    first = get(source)
    assert get(source) == first and server.asked == ["/tiny.zip"]
    given = put(places[0] / "tiny-2000")
    assert get(source) == given and server.asked == ["/tiny.zip"]


def test_an_unsound_copy_is_replaced_in_its_own_folder_only(
    places: tuple[Path, Path], server: Server
) -> None:
    given, cache = places
    source = server.serve(SOUND)
    put(cache / "tiny", "1::2::3\n")
    assert as_dict(read_movielens(get(source))) == wanted(ROWS)
    put(given / "tiny", ratings_dat(ROWS[:2]))
    with pytest.raises(DataError, match=r"given.tiny has 2 ratings, but Tiny has 5"):
        get(source)


def corrupt(archive: bytes) -> bytes:
    """Change a byte of the packed ratings."""
    place = archive.index(b"tiny/ratings.dat") + len("tiny/ratings.dat") + 5
    return archive[:place] + bytes([archive[place] ^ 255]) + archive[place + 1 :]


BROKEN = {
    "a zip cut off": (SOUND[:-30], r"the archive is broken \(File is not a zip file\)"),
    "a zip with a wrong byte": (corrupt(SOUND), "the archive is broken"),
    "a zip bomb": (
        zipped({"tiny/ratings.dat": CONTENT + " " * 10**6}),
        r"tiny/ratings\.dat is more than 10 times larger than its archive",
    ),
    "no such member": (
        zipped({"ratings.dat": CONTENT}),
        r"the archive does not contain tiny/ratings\.dat",
    ),
    "a member outside": (
        zipped({"../tiny/ratings.dat": CONTENT, "/tiny/ratings.dat": CONTENT}),
        r"the archive does not contain tiny/ratings\.dat",
    ),
    "a web page": (b"\n<!DOCTYPE html><p>Sorry", "tiny.zip is a web page, not the data set"),
    "fewer ratings": (
        zipped({"tiny/ratings.dat": ratings_dat(ROWS[:4])}),
        "has 4 ratings, but Tiny has 5",
    ),
    "a line cut off": (
        zipped({"tiny/ratings.dat": CONTENT[:-13]}),
        "line 5 of .* has 3 fields, not 4",
    ),
}


@pytest.mark.parametrize(("body", "message"), BROKEN.values(), ids=BROKEN)
def test_what_is_not_the_data_set_is_refused_and_leaves_nothing(
    tmp_path: Path, server: Server, body: bytes, message: str
) -> None:
    source = server.serve(body)
    with pytest.raises(
        DataError, match=f"could not fetch Tiny: .*{message}.*; get it by hand: Write it your"
    ):
        get(source, tmp_path / "cache")
    assert tree(tmp_path) == ["cache"]


def test_a_failure_leaves_the_copy_that_was_there(tmp_path: Path, server: Server) -> None:
    old = put(tmp_path / "tiny", "1::2::3\n")
    with pytest.raises(DataError, match="archive does not contain"):
        get(server.serve(zipped({"x": "y"})), tmp_path)
    assert tree(tmp_path) == ["tiny", "tiny/ratings.dat"]
    assert (old / "ratings.dat").read_text() == "1::2::3\n"


def test_another_checksum_is_refused_with_both(tmp_path: Path, server: Server) -> None:
    source = server.serve(SOUND)
    wrong = "md5:" + "0" * 32
    message = f"checksum of .*tiny.zip is {str(source.checksum)[4:]}, not {wrong}; get it by hand"
    with pytest.raises(DataError, match=message):
        get(replace(source, checksum=wrong), tmp_path)
    assert tree(tmp_path) == []


def test_no_more_is_taken_than_permitted(tmp_path: Path, server: Server) -> None:
    most = len(SOUND) - 1
    whole = server.serve(SOUND)
    with pytest.raises(
        DataError, match=f"tiny.zip is larger than the allowed {most} bytes; get it by"
    ):
        get(replace(whole, largest_download=most), tmp_path)
    declared = server.serve(b"nothing comes", headers={"Content-Length": "1000000"})
    with pytest.raises(
        DataError, match=r"tiny\.zip is larger than the allowed 13 bytes; get it by"
    ):
        get(declared, tmp_path)
    assert tree(tmp_path) == []


def test_no_redirection_leaves_the_scheme(tmp_path: Path, server: Server) -> None:
    elsewhere = f"https://127.0.0.1:{server.port}/other"
    source = server.serve(b"", code=302, headers={"Location": elsewhere})
    with pytest.raises(DataError, match=r"redirects to a scheme other than http \(.*https://127"):
        get(source, tmp_path)
    assert tree(tmp_path) == [] and server.asked == ["/tiny.zip"]


def test_only_https_is_accepted_by_default(tmp_path: Path, server: Server) -> None:
    source = server.serve(SOUND)
    with pytest.raises(DataError, match="the address redirects to a scheme other than https"):
        store.fetch_source(source, tmp_path)
    assert tree(tmp_path) == [] and server.asked == []


def test_a_redirection_within_the_scheme_is_followed(tmp_path: Path, server: Server) -> None:
    source = server.serve(SOUND)
    server.answers["/moved"] = server.answers["/tiny.zip"]
    server.answers["/tiny.zip"] = 301, {"Location": "/moved"}, b""
    assert get(source, tmp_path) == tmp_path / "tiny"


def test_a_refusing_or_absent_server_is_a_sentence(tmp_path: Path, server: Server) -> None:
    source = server.serve(b"gone", code=404)
    with pytest.raises(DataError, match=r"could not download .*tiny.zip \(404 .*; get it by"):
        get(source, tmp_path)
    short = server.serve(SOUND, headers={"Content-Length": str(len(SOUND) + 5)})
    with pytest.raises(DataError, match=r"could not download .*tiny.zip \("):
        get(replace(short, largest_download=10**6), tmp_path)
    with pytest.raises(DataError, match=r"could not download .* \(.*; get it by hand"):
        get(replace(source, address="http://127.0.0.1:1/tiny.zip"), tmp_path)
    assert tree(tmp_path) == []


def test_what_has_no_address_is_got_by_hand(places: tuple[Path, Path]) -> None:
    with pytest.raises(
        DataError, match="no download address for the Netflix Prize; get it by hand: Net"
    ):
        fetch("netflix")
    assert not places[1].exists()


def test_a_folder_that_cannot_be_written_to_is_named(server: Server) -> None:
    with pytest.raises(OutputError, match="/dev/null/x cannot be written to"):
        get(server.serve(SOUND), Path("/dev/null/x"))
