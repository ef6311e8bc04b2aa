"""Run a case, evaluate its claims and write its page."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grassvine.foundations.files import write_whole
from grassvine.paper.case import Case, Claim, Request, Results
from grassvine.report.page import (
    Block,
    Bullets,
    Heading,
    Link,
    Paragraph,
    Table,
    Verdicts,
    write_page,
)


@dataclass(frozen=True, slots=True, eq=False)
class Reproduction:
    """A case with its results and evaluated claims."""

    case: Case
    request: Request
    results: Results
    claims: tuple[Claim, ...]

    def as_object(self) -> dict[str, Any]:
        """Return all results as a JSON object; non-finite numbers become null."""
        return {
            "case": self.case.name,
            "scale": self.request.scale,
            "seed": self.request.seed,
            "runs": [_finite(asdict(one.record)) for one in self.results.finished],
            "paper": self.case.paper,
            "claims": [asdict(claim) for claim in self.claims],
        }


def reproduce(case: Case, request: Request) -> Reproduction:
    """Run a case and evaluate its claims."""
    results = case.experiment.run(request)
    return Reproduction(case, request, results, tuple(case.claims(results)))


def write_reproduction(done: Reproduction, folder: Path) -> tuple[Path, ...]:
    """Write a case's page as HTML and Markdown, its figures as PNG and SVG, its runs as JSON."""
    case, results = done.case, done.results
    blocks: list[Block] = [
        Paragraph(case.setup),
        Paragraph(_settings(done)),
        Heading("Claims and findings"),
        Verdicts([(claim.claim, claim.holds, claim.evidence) for claim in done.claims]),
        Heading("Figures"),
        *case.figures(results),
        Heading("Tables"),
        *case.tables(results),
    ]
    if case.remarks:
        blocks += [Heading("Differences from the paper"), Bullets(case.remarks)]
    pages = write_page(folder, case.name, case.title, blocks)
    text = json.dumps(done.as_object(), indent=1, ensure_ascii=False)
    return (*pages, write_whole(folder / f"{case.name}.json", text.encode()))


def write_index(
    done: Sequence[Reproduction], missing: Mapping[str, str], folder: Path
) -> tuple[Path, ...]:
    """Write an index page with the claims of all cases and the reasons why others were not run."""
    blocks: list[Block] = [
        Paragraph(
            "B. Mishra, H. Kasai, P. Jawanpuria, A. Saroop: A Riemannian gossip approach to "
            "subspace learning on Grassmann manifold (2019). Each case has its own page."
        )
    ]
    for one in done:
        blocks += [
            Heading(one.case.title),
            Verdicts([(claim.claim, claim.holds, claim.evidence) for claim in one.claims]),
            Paragraph(_settings(one)),
            Link("Figures and tables", one.case.name),
        ]
    if missing:
        rows = [(name, reason) for name, reason in missing.items()]
        blocks += [Heading("Not run"), Table(("case", "reason"), rows)]
    return write_page(folder, "index", "Reproduction of the paper", blocks)


def _settings(done: Reproduction) -> str:
    request, results = done.request, done.results
    repeats = len(results.each("repeat"))
    seconds = results.values("cpu_seconds").sum()
    return (
        f"Scale: {request.scale}; seed: {request.seed}; repeats: {repeats}; data: "
        f"{', '.join(results.each('dataset'))}; CPU time of all runs: {seconds:.0f} s."
    )


def _finite(record: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value
        for name, value in record.items()
    }
