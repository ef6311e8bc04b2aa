"""Published data sets: origin, terms of use, sizes and checksums."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from grassvine.data.tables import RatingTable
from grassvine.data.tasks import Tasks
from grassvine.datasets import jester, movielens, netflix
from grassvine.datasets.multitask import (
    PARKINSONS_FILES,
    SCHOOL_FILES,
    read_parkinsons,
    read_school,
)


@dataclass(frozen=True, slots=True)
class Source:
    """A published data set.

    Attributes
    ----------
    name, title : str
    read : callable
        Reads a file or folder in the published format.
    counts : mapping of str to int
        Published numbers of ratings, users and items, or of samples, tasks and features.
    folders : tuple of str
        Names of the folders to search.
    files : tuple of str
        Names or patterns of the files in them.
    terms : str
        Terms of use, and the publication to cite.
    by_hand : str
        How to obtain the data set without :func:`fetch`.
    sha256 : str or None
        Digest of the file that is read.
    address : str or None
        URL of the download; None if there is none.
    checksum : str or None
        Digest of the download, as ``md5:…`` or ``sha256:…``.
    largest_download : int
        Largest accepted size of the download, in bytes.
    member : str or None
        The only member of a zip archive that is unpacked.

    Examples
    --------
    >>> from grassvine.datasets import SOURCES
    >>> SOURCES["ml-100k"].counts["ratings"]
    100000
    """

    name: str
    title: str
    read: Callable[..., RatingTable | Tasks]
    counts: Mapping[str, int]
    folders: tuple[str, ...]
    files: tuple[str, ...]
    terms: str
    by_hand: str
    sha256: str | None = None
    address: str | None = None
    checksum: str | None = None
    largest_download: int = 0
    member: str | None = None


def _ratings(ratings: int, users: int, items: int) -> dict[str, int]:
    return {"ratings": ratings, "users": users, "items": items}


def _tasks(samples: int, tasks: int, features: int) -> dict[str, int]:
    return {"samples": samples, "tasks": tasks, "features": features}


def _movielens(
    size: str,
    counts: dict[str, int],
    md5: str,
    megabytes: int,
    member: str,
    sha256: str | None = None,
) -> Source:
    name = f"ml-{size.lower()}"
    folder, file = member.split("/")
    return Source(
        name=name,
        title=f"MovieLens {size}",
        read=movielens.read_movielens,
        counts=counts,
        folders=(name,) if folder == name else (name, folder),
        files=(file,),
        terms="research only, no redistribution; cite Harper & Konstan 2015 (doi:10.1145/2827872)",
        by_hand=f"Download {name}.zip from https://grouplens.org/datasets/movielens/, unpack it, "
        f"and put {file} into the folder {name} in GRASSVINE_DATA.",
        sha256=sha256,
        address=f"https://files.grouplens.org/datasets/movielens/{name}.zip",
        checksum=f"md5:{md5}",
        largest_download=megabytes * 10**6,
        member=member,
    )


_ALL = (
    _movielens(
        "100K",
        _ratings(100_000, 943, 1_682),
        "0e33842e24a9c977be4e0107933c0723",
        5,
        "ml-100k/u.data",
        "06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490",
    ),
    _movielens(
        "1M",
        _ratings(1_000_209, 6_040, 3_706),
        "c4d9eecfca2ab87c1945afe126590906",
        10,
        "ml-1m/ratings.dat",
        "506d64ca44484487c11dc2d9a28de5c54948213e6b96285e298afe28d6ea4e0f",
    ),
    _movielens(
        "10M",
        _ratings(10_000_054, 69_878, 10_677),
        "ce571fd55effeba0271552578f2648bd",
        70,
        "ml-10M100K/ratings.dat",
    ),
    _movielens(
        "20M",
        _ratings(20_000_263, 138_493, 26_744),
        "cd245b17a1ae2cc31bb14903e1204af3",
        220,
        "ml-20m/ratings.csv",
    ),
    _movielens(
        "25M",
        _ratings(25_000_095, 162_541, 59_047),
        "6b51fb2759a8657d3bfcbfc42b592ada",
        270,
        "ml-25m/ratings.csv",
    ),
    _movielens(
        "32M",
        _ratings(32_000_204, 200_948, 84_432),
        "d472be332d4daa821edc399621853b57",
        250,
        "ml-32m/ratings.csv",
    ),
    Source(
        name="netflix",
        title="the Netflix Prize",
        read=netflix.read_netflix,
        counts=_ratings(100_480_507, 480_189, 17_770),
        folders=("netflix", "nf_prize_dataset"),
        files=netflix.FILES,
        terms="non-commercial research, no redistribution; cite Bennett & Lanning 2007",
        by_hand="Netflix has withdrawn it; put combined_data_1.txt … combined_data_4.txt from a "
        "mirror, or the original folder training_set, into the folder netflix in GRASSVINE_DATA.",
    ),
    Source(
        name="jester-1",
        title="Jester, data set 1",
        read=jester.read_jester,
        counts=_ratings(1_810_455, 24_983, 100),
        folders=("jester1", "jester-1"),
        files=jester.FILES,
        terms="research only; cite Goldberg, Roeder, Gupta & Perkins 2001 "
        "(doi:10.1023/A:1011419012209)",
        # No sha256, because every spreadsheet program writes the CSV a little differently.
        by_hand="Download data set 1 from https://eigentaste.berkeley.edu/dataset/, export its "
        "sheet as jester-data-1.csv, and put that file into the folder jester1 in GRASSVINE_DATA.",
    ),
    Source(
        name="school",
        title="School (Inner London Education Authority)",
        read=read_school,
        counts=_tasks(15_362, 139, 28),
        folders=("school",),
        files=SCHOOL_FILES,
        terms="no terms stated; cite Zhou, Chen & Ye 2011 (MALSAR)",
        by_hand="Put school.mat from the MALSAR package (https://github.com/jiayuzhou/MALSAR) into "
        "the folder school in GRASSVINE_DATA.",
        sha256="57fb3238fdd03a9aa17276e2ce18d9bbb5d128c3261e794fe6233b58b6909068",
    ),
    Source(
        name="parkinsons",
        title="Parkinsons telemonitoring",
        read=read_parkinsons,
        counts=_tasks(5_875, 42, 19),
        folders=("parkinsons",),
        files=PARKINSONS_FILES,
        terms="cite Tsanas, Little, McSharry & Ramig 2009 (doi:10.1109/TBME.2009.2036000)",
        by_hand="Download parkinsons_updrs.data from "
        "https://archive.ics.uci.edu/dataset/189/parkinsons+telemonitoring and put it into the "
        "folder parkinsons in GRASSVINE_DATA.",
        sha256="f2c7d5025dec4e92e7feae367a5f7ccf58789a10ac6b54bdf15976c599f9dd39",
        address="https://archive.ics.uci.edu/ml/machine-learning-databases/parkinsons/"
        "telemonitoring/parkinsons_updrs.data",
        checksum="sha256:f2c7d5025dec4e92e7feae367a5f7ccf58789a10ac6b54bdf15976c599f9dd39",
        largest_download=10**6,
    ),
)

SOURCES: dict[str, Source] = {source.name: source for source in _ALL}
