"""`make sandbox`: the whole system on loopback, with everybody's credentials, until Ctrl-C stops it."""

import signal
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from shlex import quote
from types import FrameType

import click

from sandbox.deploy import DeployError
from sandbox.edge import EdgeSettings
from sandbox.handout import Handout, hand_out
from sandbox.ministack import ServerError
from sandbox.running import Sandbox, run_sandbox
from sandbox.sample import RELEASE, read_inventory, write_files

PROFILE = Path(__file__).parents[1] / "profiles" / "cpython.toml"
COMMIT = "9c2e4f6a8b0d1c3e5f7a9b1d2c4e6f8a0b3d5c7e"
STOPS = (signal.SIGINT, signal.SIGTERM)
_SOME_FILE = "python/3.14.0/Python-3.14.0b3.tgz"


class _StopRequest(BaseException):
    """Somebody wants the sandbox to end."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--edges", type=click.IntRange(1, 8), default=2, show_default=True, help="How many edges serve."
)
@click.option(
    "--lag",
    type=click.FloatRange(0, 10),
    default=0.0,
    show_default=True,
    metavar="SECONDS",
    help="How late the edges hear of changes in the gate's store.",
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where its files go, and stay.  [default: a new folder, removed in the end]",
)
def main(edges: int, lag: float, folder: Path | None) -> None:
    """Run an emulated AWS with the Pulumi program deployed onto it, and edges of its CDN in front.

    Nothing listens beyond this machine. Ctrl-C stops all of it.
    """
    for number in STOPS:
        signal.signal(number, _stop)
    try:
        with ExitStack() as stack:
            if folder is None:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sandbox-")))
            folder.mkdir(parents=True, exist_ok=True)
            folder = folder.resolve()
            settings = EdgeSettings(lag_seconds=lag)
            sandbox = stack.enter_context(run_sandbox(folder, PROFILE, edges=edges, settings=settings))
            print("\n".join(_describe(sandbox, hand_out(sandbox.site, folder), _write_sample(folder))))
            sys.stdout.flush()
            while True:
                signal.pause()
    except (ServerError, DeployError) as error:
        print(f"the sandbox did not start: {error}", file=sys.stderr)
        sys.exit(1)
    except _StopRequest:
        print("stopped", file=sys.stderr)


def _stop(number: int, frame: FrameType | None) -> None:
    _ = number, frame
    # Once is enough: what stops must not be stopped.
    for each in STOPS:
        signal.signal(each, signal.SIG_IGN)
    raise _StopRequest


def _write_sample(folder: Path) -> Sequence[Path]:
    """Write what each builder would have built, into a folder of its own."""
    inventory = read_inventory()
    roles = sorted({file.role for file in inventory})
    for role in roles:
        write_files(folder / "sample" / role, [file for file in inventory if file.role == role], COMMIT)
    return [folder / "sample" / role for role in roles]


def _describe(sandbox: Sandbox, handout: Handout, samples: Sequence[Path]) -> Iterable[str]:
    """Say what runs, and what to type; what can be pasted is indented."""
    site = sandbox.site
    yield f"The sandbox runs: AWS at {site.endpoint}, edges in front: {len(sandbox.urls)}. Ctrl-C stops it."
    yield f"Files: {site.config.parent}. AWS profiles: {', '.join(site.credentials)}."
    yield f"For tools that want variables: {handout.env_files['rm']}, and so on for each profile."
    yield ""
    yield "In another terminal, first"
    yield ""
    yield f"  . {quote(str(handout.shell))}"
    yield ""
    yield "and then, each in the name of whoever does it"
    yield ""
    yield f"  AWS_PROFILE=rm publisher open {RELEASE} --commit {COMMIT}"
    for sample in samples:
        role, files = sample.name, quote(str(sample))
        upload = f"publisher upload {RELEASE} {files} --role {role} --commit {COMMIT} --complete"
        yield f"  AWS_PROFILE={role} {upload}"
    yield f"  AWS_PROFILE=rm publisher status {RELEASE} --check"
    yield f"  AWS_PROFILE=rm publisher promote {RELEASE} --yes"
    yield ""
    yield "Users download here; each edge has a cache and a copy of the gate's store of its own"
    yield ""
    for url in sandbox.urls:
        yield f"  curl -sI {url}{_SOME_FILE}"
    yield ""
    yield "Ready."


if __name__ == "__main__":
    main()
