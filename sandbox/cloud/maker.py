"""Makes each resource that a program registers, or stops for good."""

import threading
from collections.abc import Mapping
from typing import cast

import pulumi

from sandbox.cloud import access, buckets, cdn, notices
from sandbox.cloud.spelling import Clients, Create, Values, plain

CREATE: Mapping[str, Create] = {
    **buckets.CREATE,
    **access.CREATE,
    **cdn.CREATE,
    **notices.CREATE,
}


class CannotMakeError(Exception):
    """The program asks for what is not provided for here."""


class Cloud(pulumi.runtime.Mocks):
    """Makes each resource as it is registered. After a failure nothing more is made.

    Pulumi registers from several threads, and a failure of one does not stop the others. So the first one is
    kept in `failure`: what was made is then of no use, and is to be thrown away.
    """

    def __init__(self, clients: Clients) -> None:
        self.made: list[Values] = []
        self.failure = ""
        self._clients = clients
        self._lock = threading.Lock()

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str | None, Values]:
        """Make a resource; a component is only a name for several."""
        inputs: Values = plain(cast("object", args.inputs))
        if not args.custom:
            return "", inputs
        try:
            identifier, outputs = self._make(args, dict(inputs))
        except Exception as error:
            with self._lock:
                self.failure = self.failure or f"{args.typ} {args.name}: {type(error).__name__}: {error}"
            raise
        with self._lock:
            self.made.append({"type": args.typ, "name": args.name, "id": identifier, "inputs": inputs})
        return identifier, {**inputs, **outputs}

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[Values, list[tuple[str, str]] | None]:
        """Refuse: the program asks the provider nothing, and an answer would have to be made up."""
        self.failure = self.failure or f"found a call of {args.token}, expected none"
        raise CannotMakeError(self.failure)

    def _make(self, args: pulumi.runtime.MockResourceArgs, given: Values) -> tuple[str, Values]:
        if self.failure:
            raise CannotMakeError("another resource has failed")
        if args.resource_id:
            raise CannotMakeError("found one that is to be imported, but there is nothing yet")
        if args.typ not in CREATE:
            raise CannotMakeError(
                f"found a type that nothing here makes, expected one of {', '.join(CREATE)}"
            )
        answer = CREATE[args.typ](self._clients, given)
        if given:
            raise CannotMakeError(f"found inputs that nothing here reads: {', '.join(sorted(given))}")
        return answer
