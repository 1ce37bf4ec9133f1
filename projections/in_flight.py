"""Work that is under way on a connection while the next is prepared here: one piece at a time."""

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")


class InFlight(Generic[T]):
    """Open with `async with`: at its end the work is waited for, whatever happened. If something else has failed
    already, that is told, and not what became of the work for it."""

    def __init__(self) -> None:
        self._task: asyncio.Task[T] | None = None

    def begin(self, work: Coroutine[Any, Any, T]) -> None:
        """Let it run whenever this task waits. What was begun before must have been waited for."""
        assert self._task is None, "one piece at a time"
        self._task = asyncio.get_running_loop().create_task(work)

    async def result(self) -> T:
        """Of what was begun. Raises what it raises."""
        task, self._task = self._task, None
        assert task is not None, "nothing was begun"
        return await task

    async def settle(self) -> None:
        """Wait for what was begun, if there is anything. Raises what it raises."""
        if self._task is not None:
            await self.result()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.settle()
        elif self._task is not None:
            await asyncio.wait([self._task])
            self._task.cancelled() or self._task.exception()  # it is seen, or asyncio would complain
