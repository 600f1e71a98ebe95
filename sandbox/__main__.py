"""`make sandbox`: the whole system on loopback, with everybody's credentials, until Ctrl-C stops it."""

import signal
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from types import FrameType

import click

from publisher.documents.profile import load_profile
from publisher.errors import ConfigError
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


@dataclass(frozen=True, slots=True)
class Story:
    """What to type: the release, the option that names its commit, each builder's files, one URL's path."""

    release: str
    commit: str
    files: Mapping[str, str]
    some_file: str


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
@click.option("--outer-cache", is_flag=True, help="Let users download from a cache that has to be purged.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where its files go, and stay.  [default: a new folder, removed in the end]",
)
@click.option(
    "--profile",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A project's rules.  [default: CPython's, with a sample release]",
)
def main(edges: int, lag: float, folder: Path | None, profile: Path | None, *, outer_cache: bool) -> None:
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
            story = _tell_of(profile) if profile else _write_sample(folder)
            sandbox = stack.enter_context(
                run_sandbox(
                    folder, profile or PROFILE, edges=edges, settings=settings, outer_cache=outer_cache
                )
            )
            print("\n".join(_describe(sandbox, hand_out(sandbox.site, folder), story)))
            sys.stdout.flush()
            while True:
                signal.pause()
    except (ConfigError, DeployError, ServerError) as error:
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


def _write_sample(folder: Path) -> Story:
    """Write what each builder of the sample release would have built, into a folder of its own."""
    inventory = read_inventory()
    roles = sorted({file.role for file in inventory})
    for role in roles:
        write_files(folder / "sample" / role, [file for file in inventory if file.role == role], COMMIT)
    files = {role: quote(str(folder / "sample" / role)) for role in roles}
    return Story(RELEASE, f" --commit {COMMIT}", files, _SOME_FILE)


def _tell_of(profile: Path) -> Story:
    """Tell the story of any project, with names to be filled in."""
    rules = load_profile(profile)
    commit = " --commit SHA" if rules.commit_required else ""
    return Story("RELEASE", commit, dict.fromkeys(rules.deliverers(), "FILES"), "KEY")


def _describe(sandbox: Sandbox, handout: Handout, story: Story) -> Iterable[str]:
    """Say what runs, and what to type; what can be pasted is indented."""
    site, release = sandbox.site, story.release
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
    yield f"  AWS_PROFILE=rm publisher open {release}{story.commit}"
    for role, files in story.files.items():
        upload = f"publisher upload {release} {files} --role {role}{story.commit} --complete"
        yield f"  AWS_PROFILE={role} {upload}"
    yield f"  AWS_PROFILE=rm publisher sign {release}"
    yield f"  AWS_PROFILE=rm publisher status {release} --check"
    yield f"  AWS_PROFILE=rm publisher promote {release} --create-release --yes"
    yield f"  publisher verify {release} --public"
    yield ""
    yield "Users download here; each edge has a cache and a copy of the gate's store of its own"
    yield ""
    for url in (*sandbox.urls, *([sandbox.outer.url] if sandbox.outer else [])):
        yield f"  curl -sI {url}{story.some_file}"
    yield ""
    yield "Ready."


if __name__ == "__main__":
    main()
