"""What somebody has put into Ray's object store, fetched where it is used."""

import copy
from dataclasses import dataclass
from typing import Any

from grassvine.foundations.errors import DataError
from grassvine.foundations.extras import load_extra
from grassvine.foundations.options import real_number


@dataclass(frozen=True, slots=True)
class FromObjectStore:
    """Calling it, in an actor, returns a writable copy of an object in Ray's store.

    ``run(plan, [FromStore(ray.put(problem)) for problem in …])``, where tasks on other machines may
    have put the problems; or ratings, for :func:`completion_problems`.

    Parameters
    ----------
    reference : ObjectRef
        What ``ray.put`` or a task returned.
    timeout : float
        How many seconds to wait for it.
    """

    reference: Any
    timeout: float = 600.0

    def __post_init__(self) -> None:
        """Check the options."""
        real_number("timeout", self.timeout, least=1.0)

    def __call__(self) -> Any:
        """Fetch the object; a copy, as Ray hands over read-only views of its store."""
        ray = load_extra("ray", "an object in Ray's store", "ray")
        try:
            return copy.deepcopy(ray.get(self.reference, timeout=self.timeout))
        except ray.exceptions.GetTimeoutError:
            raise DataError(
                f"Ray's store did not hand over {self.reference} within {self.timeout:g} s; look "
                "whether the task that makes it still runs, or give a longer timeout."
            ) from None

    def __deepcopy__(self, memo: Any) -> "FromObjectStore":
        """Return itself: a copied reference would no longer keep its object in the store."""
        return self
