"""Observers of a fit: those of the user, ``verbose``, and scikit-learn's callbacks.

``estimator.set_callbacks(ProgressBar())`` shows the slots of a fit. A callback can stop the fit
after any slot. scikit-learn's callbacks are experimental and used in this module only.
"""

from collections.abc import Callable
from typing import Any, Self, TypeVar

from sklearn.callback import CallbackSupportMixin, with_callbacks

from grassvine.foundations.options import whole_number
from grassvine.protocol import Method, Observer, StepReport
from grassvine.report.verbose import VerbosePrinter

Fit = TypeVar("Fit", bound=Callable[..., Any])


def fit_with_callbacks(fit: Fit) -> Fit:
    """Decorate ``fit`` so that callbacks are torn down after it, even if it fails."""
    decorated: Fit = with_callbacks(fit)
    return decorated


class CallbackSupport(CallbackSupportMixin):  # type: ignore[misc]
    """Mixin for estimators that report each slot of a fit to observers and callbacks."""

    verbose: int

    def set_observers(self, *observers: Observer) -> Self:
        """Set observers that are called with every :class:`StepReport` of subsequent fits.

        For example, ``grassvine.report.progress.ProgressBar`` shows the completed fraction and the
        remaining time, on a terminal or in a notebook. An observer that returns a string stops the
        run. Observers are not parameters: clones have none.
        """
        self._observers = observers
        return self

    def _user_observers(self, method: Method) -> tuple[Observer, ...]:
        """Return the observers of the user, and one that prints if ``verbose`` is set."""
        verbose = whole_number("verbose", self.verbose, least=0)
        observers: tuple[Observer, ...] = getattr(self, "_observers", ())
        if not verbose:
            return observers
        one_cost = getattr(method, "works_alone", False)
        return (*observers, VerbosePrinter(type(self).__name__, verbose, one_cost=one_cost))

    def _slot_observers(self) -> tuple[Observer, ...]:
        """Return an observer that reports slots to the callbacks, if there are any."""
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self)
        return (_Slots(self, context),) if getattr(self, "_skl_callbacks", None) else ()

    def _slots_done(self) -> None:
        """Notify the callbacks that the last slot has ended."""
        self._callback_fit_ctx.call_on_fit_task_end(estimator=self)


class _Slots:
    """Observer that begins a callback task with each slot and ends it with the next."""

    def __init__(self, estimator: CallbackSupport, context: Any):
        self._estimator, self._context = estimator, context
        self._slot = -1
        self._task: Any = None

    def __call__(self, report: StepReport) -> str | None:
        if report.slot == self._slot:
            return None
        stop = self._end()
        self._slot = report.slot
        if report.neighbour != -1:  # final states do not belong to a slot
            self._task = self._context.subcontext(task_name="slot")
            self._task.call_on_fit_task_begin(estimator=self._estimator)
        return "a callback requested a stop" if stop else None

    def _end(self) -> bool:
        if self._task is None:
            return False
        task, self._task = self._task, None
        return bool(task.call_on_fit_task_end(estimator=self._estimator))
