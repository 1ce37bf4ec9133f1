"""What a writer lets be seen of its work, for whoever measures it. Nothing depends on anybody looking."""

from typing import Protocol


class Observer(Protocol):
    """Is told of the writer's work, within it: it must neither block nor raise. Durations are in seconds."""

    def batch_written(self, larp: str, commands: int, events: int, seconds: float) -> None:
        """A batch with something to record was committed; `seconds`: its statement and its commit."""
        ...

    def race_lost(self, larp: str) -> None:
        """Another process appended first: what was decided was decided on an old state, and is decided again."""
        ...

    def book_loaded(self, larp: str, seconds: float) -> None:
        """A LARP's state was read from the journal."""
        ...


class Unobserved:
    """Nobody looks."""

    def batch_written(self, larp: str, commands: int, events: int, seconds: float) -> None: ...

    def race_lost(self, larp: str) -> None: ...

    def book_loaded(self, larp: str, seconds: float) -> None: ...
