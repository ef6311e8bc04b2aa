"""Finding, downloading, reading and checking published data sets by name."""

import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from grassvine.data.tables import RatingTable
from grassvine.data.tasks import Tasks
from grassvine.datasets import jester, movielens, netflix
from grassvine.datasets.download import Progress, download, unpack
from grassvine.datasets.published_text import find_files, first_line, some_files
from grassvine.datasets.sources import SOURCES, Source
from grassvine.foundations.errors import DataError, OutputError, unknown
from grassvine.foundations.files import make_folder
from grassvine.foundations.watch import Watch

VARIABLE = "GRASSVINE_DATA"


def cache_folder() -> Path:
    """Return the default folder for downloaded data sets."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("grassvine")) / "data"


def locate(name: str, path: str | os.PathLike[str] | None = None) -> Path:
    r"""Return the path of a data set.

    Parameters
    ----------
    name : str
        One of ``SOURCES``.
    path : path, optional
        The file or folder. By default, ``$GRASSVINE_DATA`` and then :func:`cache_folder` are
        searched for a folder of the data set.

    Examples
    --------
    >>> from pathlib import Path
    >>> from grassvine.datasets import locate
    >>> _ = Path("u.data").write_text("1\t2\t5\t881250949\n")
    >>> locate("ml-100k", path="u.data").name
    'u.data'
    """
    source = _source(name)
    if path is not None:
        some_files(path, source.files, source.title)
        return Path(path)
    place = find(source)
    if place is None:
        searched = ", ".join(str(root / source.folders[0]) for root in _roots())
        unset = "" if os.environ.get(VARIABLE) else f" ({VARIABLE} is not set)"
        fetching = f"run 'grassvine data fetch {name}', or get it " if source.address else "get it "
        raise DataError(
            f"{source.title} not found at {searched}{unset}; {fetching}by hand: {source.by_hand}"
        )
    return place


def find(source: Source, roots: Sequence[Path] | None = None) -> Path | None:
    """Return the first folder that contains the files of a data set, or None."""
    for root in _roots() if roots is None else roots:
        for folder in source.folders:
            if (root / folder).is_dir() and find_files(root / folder, source.files):
                return root / folder
    return None


def load_ratings(
    name: str, path: str | os.PathLike[str] | None = None, watch: Watch | None = None
) -> RatingTable:
    """Read published ratings and check their counts and digest.

    The parameters are those of :func:`locate`; ``watch`` is called with the completed fraction as
    it grows. A truncated or modified file raises DataError, even if its path is given.

    Examples
    --------
    >>> from grassvine.datasets import load_ratings
    >>> table = load_ratings("ml-100k")  # doctest: +SKIP
    >>> try:
    ...     load_ratings("ml-100")
    ... except ValueError as error:
    ...     print(error)
    unknown data set 'ml-100'; did you mean 'ml-100k'?
    """
    source = _source(name)
    if "ratings" not in source.counts:
        raise DataError(f"{source.title} contains tasks, not ratings; use load_tasks({name!r}).")
    data = _load(source, locate(name, path), watch=watch)
    assert isinstance(data, RatingTable)
    return data


def load_tasks(name: str, path: str | os.PathLike[str] | None = None) -> Tasks:
    """Read published tasks and check their counts and digest; see :func:`load_ratings`.

    Examples
    --------
    >>> from grassvine.datasets import load_tasks
    >>> tasks = load_tasks("school")  # doctest: +SKIP
    >>> try:
    ...     load_tasks("schools")
    ... except ValueError as error:
    ...     print(error)
    unknown data set 'schools'; did you mean 'school'?
    """
    source = _source(name)
    if "tasks" not in source.counts:
        raise DataError(f"{source.title} contains ratings, not tasks; use load_ratings({name!r}).")
    data = _load(source, locate(name, path))
    assert isinstance(data, Tasks)
    return data


def read_ratings_file(path: str | os.PathLike[str], watch: Watch | None = None) -> RatingTable:
    r"""Read a file in the format of MovieLens, Netflix or Jester, detected from its first line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from grassvine.datasets import read_ratings_file
    >>> _ = Path("ratings.dat").write_text("1::1193::5::978300760\n2::661::3::978302109\n")
    >>> read_ratings_file("ratings.dat").ratings.n_values
    2
    """
    files = some_files(path, (*movielens.FILES, *netflix.FILES, *jester.FILES), "published ratings")
    line = first_line(files[0])
    if netflix.MOVIE_LINE.fullmatch(line):
        return netflix.read_netflix(path, watch)
    if line.count(b",") == jester.N_JOKES:
        return jester.read_jester(path, watch)
    return movielens.read_movielens(path, watch)


def fetch(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Path:
    """Download a data set, check it and return its folder.

    An existing valid copy is not downloaded again.

    Parameters
    ----------
    name : str
        One of ``SOURCES``.
    folder : path, optional
        Parent of the data set's folder; by default :func:`cache_folder`.
    progress : callable, optional
        Called with the number of bytes received and their total, or None if it is unknown.
    watch : callable, optional
        Called with the completed fraction while the files are read to check them.

    Examples
    --------
    >>> from grassvine.datasets import fetch
    >>> folder = fetch("ml-100k")  # doctest: +SKIP
    >>> try:
    ...     fetch("ml-100")
    ... except ValueError as error:
    ...     print(error)
    unknown data set 'ml-100'; did you mean 'ml-100k'?
    """
    return fetch_source(_source(name), folder, progress, watch=watch)


def fetch_source(
    source: Source,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    *,
    scheme: str = "https",
    watch: Watch | None = None,
) -> Path:
    """Fetch a data set that need not be one of ``SOURCES``."""
    root = cache_folder() if folder is None else Path(folder)
    target = root / source.folders[0]
    present = find(source, None if folder is None else [root])
    if present is not None:
        try:
            _load(source, present, watch)
        except DataError:
            if present != target:  # do not replace a copy that we did not create
                raise
        else:
            return present
    if source.address is None or source.checksum is None:
        raise DataError(f"no download address for {source.title}; get it by hand: {source.by_hand}")
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=make_folder(root)) as temporary:
        try:
            received = Path(temporary) / "download"
            file = Path(temporary) / source.files[0]
            download(
                source.address,
                received,
                checksum=source.checksum,
                largest=source.largest_download,
                progress=progress,
                scheme=scheme,
            )
            if source.member is None:
                received.replace(file)
            else:
                unpack(received, source.member, file)
            _load(source, file, watch)
            make_folder(target)
            file.replace(target / file.name)
        except DataError as cause:
            raise DataError(
                f"could not fetch {source.title}: {str(cause).rstrip('.')}; get it by hand: "
                f"{source.by_hand}"
            ) from None
        except OSError as cause:
            if isinstance(cause, OutputError):
                raise
            raise OutputError(
                f"cannot write {target} ({cause.strerror or cause}); free disk space or choose "
                "another folder."
            ) from None
    return target


def _source(name: str) -> Source:
    if name not in SOURCES:
        raise DataError(unknown("data set", name, SOURCES))
    return SOURCES[name]


def _roots() -> list[Path]:
    given = os.environ.get(VARIABLE)
    return [*([Path(given).expanduser()] if given else []), cache_folder()]


def _load(source: Source, path: Path, watch: Watch | None = None) -> RatingTable | Tasks:
    """Read a data set and check its counts and digest; only ratings report the progress."""
    watched = watch is not None and "ratings" in source.counts
    data = source.read(path, watch=watch) if watched else source.read(path)
    found = _counts(data)
    for what, published in source.counts.items():
        if found[what] != published:
            raise DataError(
                f"{path} has {found[what]:,} {what}, but {source.title} has {published:,}; it is "
                "truncated, modified or another data set, so download it again."
            )
    if source.sha256 is not None:
        with find_files(path, source.files)[0].open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != source.sha256:
            raise DataError(
                f"{path} has the counts of {source.title} but was modified: its sha256 is "
                f"{digest}, not {source.sha256}; download it again."
            )
    return data


def _counts(data: RatingTable | Tasks) -> dict[str, int]:
    if isinstance(data, Tasks):
        return {"samples": data.n_values, "tasks": data.n_tasks, "features": data.n_items}
    ratings = data.ratings
    return {"ratings": ratings.n_values, "users": ratings.n_users, "items": ratings.n_items}
