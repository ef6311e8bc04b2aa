"""Run a case, decide its claims, and write its page."""

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
    """A case that was run."""

    case: Case
    request: Request
    results: Results
    claims: tuple[Claim, ...]

    def as_object(self) -> dict[str, Any]:
        """All figures as one object for JSON; what is no finite number is null."""
        return {
            "case": self.case.name,
            "scale": self.request.scale,
            "seed": self.request.seed,
            "runs": [_finite(asdict(one.record)) for one in self.results.finished],
            "paper": self.case.paper,
            "claims": [asdict(claim) for claim in self.claims],
        }


def reproduce(case: Case, request: Request) -> Reproduction:
    """Run a case and decide its claims."""
    results = case.experiment.run(request)
    return Reproduction(case, request, results, tuple(case.claims(results)))


def write_reproduction(done: Reproduction, folder: Path) -> tuple[Path, ...]:
    """Write a case's page as HTML and Markdown, its figures as PNG and SVG, its runs as JSON."""
    case, results = done.case, done.results
    blocks: list[Block] = [
        Paragraph(case.setup),
        Paragraph(_how(done)),
        Heading("What the paper says, and what was found"),
        Verdicts([(claim.claim, claim.holds, claim.evidence) for claim in done.claims]),
        Heading("Figures"),
        *case.figures(results),
        Heading("Tables"),
        *case.tables(results),
    ]
    if case.remarks:
        blocks += [Heading("Where we differ, and why"), Bullets(case.remarks)]
    pages = write_page(folder, case.name, case.title, blocks)
    text = json.dumps(done.as_object(), indent=1, ensure_ascii=False)
    return (*pages, write_whole(folder / f"{case.name}.json", text.encode()))


def write_index(
    done: Sequence[Reproduction], missing: Mapping[str, str], folder: Path
) -> tuple[Path, ...]:
    """Write one page over all cases: the claims, and which cases were not run and why."""
    blocks: list[Block] = [
        Paragraph(
            "B. Mishra, H. Kasai, P. Jawanpuria, A. Saroop: A Riemannian gossip approach to "
            "subspace learning on Grassmann manifold (2019). Each case has a page of its own."
        )
    ]
    for one in done:
        blocks += [
            Heading(one.case.title),
            Verdicts([(claim.claim, claim.holds, claim.evidence) for claim in one.claims]),
            Paragraph(_how(one)),
            Link("Figures and tables", one.case.name),
        ]
    if missing:
        rows = [(name, reason) for name, reason in missing.items()]
        blocks += [Heading("Not run"), Table(("case", "why"), rows)]
    return write_page(folder, "index", "The paper, reproduced", blocks)


def _how(done: Reproduction) -> str:
    request, results = done.request, done.results
    repeats = len(results.each("repeat"))
    seconds = results.values("cpu_seconds").sum()
    return (
        f"Scale «{request.scale}», seed {request.seed}, "
        f"{'one repeat' if repeats == 1 else f'{repeats} repeats'}, data: "
        f"{', '.join(results.each('dataset'))}; {seconds:.0f} CPU seconds in the runs."
    )


def _finite(record: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value
        for name, value in record.items()
    }
