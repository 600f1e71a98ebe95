"""Runs ministack with two listeners, in the clear and over TLS; its own command has one or the other.

AWS answers on both, and it is a bucket's policy that refuses what comes in the clear. Run as a program:
`two_listeners.py PLAIN-ADDRESS TLS-ADDRESS CERTIFICATE KEY`.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

from hypercorn.config import Config


def main() -> None:
    """Serve until killed."""
    config = Config()
    [plain, secure] = sys.argv[1:3]
    config.insecure_bind = [plain]
    config.bind = [secure]
    config.certfile, config.keyfile = sys.argv[3:5]
    # As ministack's own command has it.
    config.keep_alive_timeout = 75
    config.loglevel = "WARNING"
    # Neither of the two packages says much about its types.
    serve: Callable[[Any, Config], Any] = import_module("hypercorn.asyncio").serve
    app: Callable[..., Awaitable[None]] = import_module("ministack.app").app
    asyncio.run(serve(app, config))


if __name__ == "__main__":
    main()
