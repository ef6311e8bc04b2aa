"""Problems and ratings from Ray's object store."""

import copy
from dataclasses import dataclass
from typing import Any

from grassvine.foundations.errors import DataError
from grassvine.foundations.extras import load_extra
from grassvine.foundations.options import real_number


@dataclass(frozen=True, slots=True)
class FromObjectStore:
    """Callable that returns a writable copy of an object in Ray's store.

    Pass problems as ``run(plan, [FromObjectStore(ray.put(problem)) for problem in …])``, or ratings
    to :func:`grassvine.problems.problems_of`. Tasks on other machines may have created the objects.

    Parameters
    ----------
    reference : ObjectRef
        Reference returned by ``ray.put`` or by a task.
    timeout : float, default=600
        Seconds to wait for the object.

    Examples
    --------
    >>> import ray
    >>> import grassvine as gv
    >>> from grassvine.engines import FromObjectStore, ray_cluster
    >>> problem = gv.PCAProblem([[1.0, 0.1], [-1.0, 0.0]])
    >>> with ray_cluster(cpus=2):
    ...     sources = [FromObjectStore(ray.put(problem)) for _ in range(2)]
    ...     result = gv.run(gv.Plan(2, 1, gv.networks.path(2)), sources, engine=gv.RayEngine())
    >>> result.mean.shape
    (2, 1)
    """

    reference: Any
    timeout: float = 600.0

    def __post_init__(self) -> None:
        """Check the options."""
        real_number("timeout", self.timeout, least=1.0)

    def __call__(self) -> Any:
        """Return a copy of the object, because Ray returns read-only views of its store."""
        ray = load_extra("ray", "an object in Ray's store", "ray")
        try:
            return copy.deepcopy(ray.get(self.reference, timeout=self.timeout))
        except ray.exceptions.GetTimeoutError:
            raise DataError(
                f"could not get {self.reference} from Ray's store within {self.timeout:g} s; check "
                "the task that creates it, or pass a longer timeout."
            ) from None

    def __deepcopy__(self, memo: Any) -> "FromObjectStore":
        """Return self, because a copied reference would not keep its object in the store."""
        return self
