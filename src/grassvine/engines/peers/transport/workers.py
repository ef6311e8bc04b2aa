"""Threads for what takes long: one that computes, one that writes the journal."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from queue import Empty, SimpleQueue
from typing import Generic, Protocol, TypeVar

from grassvine.engines.peers.member.events import Compute, Computed, Event, Persist, Persisted
from grassvine.engines.peers.member.records import Record

Job = TypeVar("Job")


class Journal(Protocol):
    """What a member writes its records to."""

    def append(self, records: Iterable[Record]) -> None:
        """Append records and flush them to disk."""
        ...


class Worker(Generic[Job]):
    """A thread that handles jobs in order, and ends at the first error.

    Parameters
    ----------
    name : str
        The name of the thread.
    handle : callable
        Handles one job or more and returns the events that follow.
    deliver : callable
        Takes the events, or the error that ``handle`` raised, in the event loop.
    together : bool, default=False
        Whether all jobs that have gathered are handled at once, or one at a time.
    within : context manager, optional
        The context in which the thread works.
    """

    def __init__(
        self,
        name: str,
        handle: Callable[[Sequence[Job]], Sequence[Event]],
        deliver: Callable[[Sequence[Event] | BaseException], None],
        *,
        together: bool = False,
        within: Callable[[], AbstractContextManager[object]] = nullcontext,
    ):
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._handle = handle
        self._deliver = deliver
        self._together = together
        self._within = within
        self._loop = asyncio.get_running_loop()
        # A process may end while a computation runs whose result nobody needs any more.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, job: Job) -> None:
        """Hand over a job."""
        self._jobs.put(job)

    async def stop(self, timeout: float | None = None) -> None:
        """Let the thread end after the jobs that it has, and wait for it."""
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join, timeout)

    def _run(self) -> None:
        with self._within():
            while jobs := self._gather():
                result: Sequence[Event] | BaseException
                try:
                    result = self._handle(jobs)
                except BaseException as error:
                    result = error
                with suppress(RuntimeError):  # the loop is closed: nobody listens any more
                    self._loop.call_soon_threadsafe(self._deliver, result)
                if isinstance(result, BaseException):
                    return

    def _gather(self) -> list[Job]:
        """Wait for jobs; there are none when the thread is to end."""
        jobs = [self._jobs.get()]
        with suppress(Empty):
            while self._together and jobs[-1] is not None:
                jobs.append(self._jobs.get_nowait())
        if jobs[-1] is None and len(jobs) > 1:
            self._jobs.put(None)
        return [job for job in jobs if job is not None]


def write_to(journal: Journal) -> Callable[[Sequence[Persist]], Sequence[Event]]:
    """Return what handles records: those of all jobs are flushed to disk at once."""

    def handle(jobs: Sequence[Persist]) -> Sequence[Event]:
        journal.append([record for job in jobs for record in job.records])
        return [Persisted(job.ticket) for job in jobs]

    return handle


def compute(jobs: Sequence[Compute]) -> Sequence[Event]:
    """Call the functions of jobs."""
    return [_computed(job) for job in jobs]


def _computed(job: Compute) -> Computed:
    try:
        return Computed(job.ticket, job.function())
    except Exception as error:
        return Computed(job.ticket, error=error)
