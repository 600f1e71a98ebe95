"""One edge, as a process: `python -m sandbox.edge.server CONFIG`. Ends only by being killed."""

import asyncio
import hmac
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path

from sandbox.edge.dataplane import DataPlane
from sandbox.edge.values import COMMAND, EDGE_CONFIG, STATUS, EdgeConfig
from sandbox.edge.wire import MAX_HEAD, BadRequestError, read_request, write_answer
from sandbox.ministack import LOOPBACK

_COMMAND_LIMIT = 16 * 1024 * 1024


async def _serve_viewer(edge: DataPlane, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    keeps_alive = True
    while keeps_alive:
        try:
            request = await read_request(reader)
        except BadRequestError as error:
            writer.write(write_answer(edge.refuse(error.status), with_body=True, keeps_alive=False))
            return
        if request is None:
            return
        answer = await edge.answer(request)
        keeps_alive = request.keeps_alive
        writer.write(write_answer(answer, with_body=request.method != "HEAD", keeps_alive=keeps_alive))
        await writer.drain()


async def _serve_control(
    edge: DataPlane, token: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    while line := await reader.readline():
        command = COMMAND.validate_json(line)
        if not hmac.compare_digest(command.token, token):
            return
        writer.write(STATUS.dump_json(edge.obey(command)) + b"\n")
        await writer.drain()


async def _end(conversation: Coroutine[object, object, None], writer: asyncio.StreamWriter) -> None:
    """See a conversation through, and its connection closed however it goes."""
    try:
        with suppress(ConnectionError):
            await conversation
    finally:
        writer.close()


async def serve(config: EdgeConfig) -> None:
    """Serve viewers and commands, each on a port of loopback, without end."""
    edge = DataPlane(config)
    viewers = await asyncio.start_server(
        lambda reader, writer: _end(_serve_viewer(edge, reader, writer), writer),
        LOOPBACK,
        config.port,
        limit=MAX_HEAD,
        backlog=512,
    )
    control = await asyncio.start_server(
        lambda reader, writer: _end(_serve_control(edge, config.token, reader, writer), writer),
        LOOPBACK,
        config.control_port,
        limit=_COMMAND_LIMIT,
    )
    await asyncio.gather(viewers.serve_forever(), control.serve_forever())


if __name__ == "__main__":
    asyncio.run(serve(EDGE_CONFIG.validate_json(Path(sys.argv[1]).read_bytes())))
