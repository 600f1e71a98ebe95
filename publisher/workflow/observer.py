"""Reports what is going on to whoever watches; by default nobody does."""

from typing import Protocol


class Observer(Protocol):
    """Hears of a command's progress. It may print; it can change nothing."""

    def step(self, name: str, detail: str) -> None:
        """Hear that a step begins."""
        ...

    def expect(self, files: int, size: int) -> None:
        """Hear how many files and bytes the step is about."""
        ...

    def advance(self, key: str, size: int) -> None:
        """Hear that one file of the step is done; called from several threads."""
        ...

    def move(self, size: int) -> None:
        """Hear that some bytes of a file went through; `advance` then tells only of the rest of it."""
        ...

    def finish(self) -> None:
        """Hear that the step's files are done, or given up."""
        ...

    def note(self, text: str) -> None:
        """Tell a result of the step under way."""
        ...

    def warn(self, text: str) -> None:
        """Hear of something that does not stop the command but should be known."""
        ...
