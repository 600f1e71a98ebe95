"""The command line: parses, asks the questions, and turns errors into exit statuses."""

import os
import shlex
import signal
import sys
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from publisher import __version__
from publisher.commands import (
    adopt,
    announce,
    audit,
    fetch,
    gate,
    hold,
    index,
    listing,
    pointers,
    promote,
    share,
    sidecars,
    sign,
    status,
    upload,
    verify,
    wait,
    withdraw,
)
from publisher.commands import open as open_command
from publisher.completion import SHELLS, complete_role, make_script
from publisher.core.decide import Decision
from publisher.core.plan import Extras
from publisher.core.refusals import WAIVABLE, Waiver
from publisher.core.share import MAX_HOURS
from publisher.core.withdrawals import Preview
from publisher.errors import Exit, PublisherError, StoppedError, UsageError
from publisher.outcomes import Outcome, Script
from publisher.output import prepare_streams
from publisher.settings import Settings
from publisher.workflow.steps import CAN_BE_GIVEN_UP
from publisher.workflow.world import World

F = TypeVar("F", bound=Callable[..., Any])

_PROGRAM = "publisher"
_EXITS = """\b
Exit statuses:
  0    done, or nothing to do
  1    failed; nothing public changed
  2    misused
  3    refused; nothing public changed
  4    something public changed; run again to finish
  130  interrupted; run again
"""


def _remember(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Keep a common option: before or after the command's name, it means the same."""
    settings = context.ensure_object(Settings)
    settings.command = _name_command(context)
    if not value or not parameter.name:
        return
    # The group has read the environment: here it would win over an option before the command's name.
    if context.parent is None or context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE:
        setattr(settings, parameter.name, value)


def common(command: F) -> F:
    """Give a command the options that all of them have."""
    shared: dict[str, Any] = {"callback": _remember, "expose_value": False}
    options = (
        click.option("-v", "--verbose", is_flag=True, help="Show where an error came from.", **shared),
        click.option("-q", "--quiet", is_flag=True, help="Errors only.", **shared),
        click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.", **shared),
        click.option(
            "--config",
            metavar="FILE",
            envvar="PUBLISHER_CONFIG",
            show_envvar=True,
            help="The site's publisher.toml.  [default: ./publisher.toml]",
            **shared,
        ),
    )
    for option in options:
        command = option(command)
    return command


role_option = click.option(
    "--role",
    required=True,
    envvar="PUBLISHER_ROLE",
    show_envvar=True,
    shell_complete=complete_role,
    help="Your role in the profile.",
)


@click.group(
    epilog=_EXITS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@common
@click.version_option(__version__, prog_name="publisher")
def publisher() -> None:
    """Publish gate: builders stage, the release manager promotes, everything becomes public at once.

    \b
    A builder:
      publisher upload 3.14.0b3 dist/ --role windows --commit SHA --complete
    A tester:
      publisher fetch 3.14.0b3 windows --role qa
      publisher hold 3.14.0b3 --role qa --reason 'what is wrong'
    The release manager:
      publisher open 3.14.0b3 --commit SHA
      publisher status 3.14.0b3
      publisher sign 3.14.0b3
      publisher promote 3.14.0b3
    """  # noqa: D301


@publisher.command("open")
@click.argument("release")
@click.option("--commit", metavar="SHA", help="The full commit that builders are to build.")
@common
def open_(*, release: str, commit: str | None) -> Outcome:
    """Open RELEASE at a commit, so that it can be handed over and promoted."""
    return open_command.run_open(wire(), release, commit)


@publisher.command()
@click.argument("release")
@click.option("--commit", metavar="SHA", help="The full commit to build now.")
@click.option("--reason", required=True, help="Why the last attempt is given up.")
@common
def respin(*, release: str, commit: str | None, reason: str) -> Outcome:
    """Start the next attempt of RELEASE; hand-overs of the last one stop counting."""
    return open_command.run_respin(wire(), release, commit, reason)


@publisher.command("upload")
@click.argument("release")
@click.argument("paths", nargs=-1, required=True)
@role_option
@click.option("--commit", metavar="SHA", help="The full commit that was built.")
@click.option("--complete", is_flag=True, help="Hand over: these are all the files. Writes SHA256SUMS last.")
@click.option(
    "--prune", is_flag=True, help="Mark files deleted that were staged earlier and are not given now."
)
@common
def upload_(
    *,
    release: str,
    paths: tuple[str, ...],
    role: str,
    commit: str | None,
    complete: bool,
    prune: bool,
) -> Outcome:
    """Stage files of RELEASE: whole folders, or files by name.

    What is staged already with the same digest is left alone; run it again after an interruption.
    """
    request = upload.UploadRequest(release, role, paths, commit, complete, prune)
    return upload.run(wire(), request)


@publisher.command("fetch")
@click.argument("release")
@click.argument("names", metavar="[ROLE|KEY]...", nargs=-1, shell_complete=complete_role)
@click.option("--to", "folder", metavar="DIR", default=".", show_default=True, help="Where files go.")
@click.option(
    "--role",
    envvar="PUBLISHER_ROLE",
    show_envvar=True,
    shell_complete=complete_role,
    help="Your role in the profile: it says what you may read. The release manager has none.",
)
@common
def fetch_(*, release: str, names: tuple[str, ...], folder: str, role: str | None) -> Outcome:
    """Download staged files of RELEASE to DIR/KEY, verified while they are written.

    \b
    publisher fetch 3.14.0b3 --role qa                  what qa may read
    publisher fetch 3.14.0b3 windows --role qa --to x/  what windows staged
    publisher fetch 3.14.0b3 python-3.14.0b3-amd64.exe --role qa

    A KEY is a public key or the end of one, such as a file name. A builder reads its own files, a tester
    those of the roles that the profile names, the release manager (no --role) everybody's.

    Files that are there with the right digest are left alone, and broken downloads are continued: run it
    again after an interruption.
    """  # noqa: D301
    return fetch.run(wire(), fetch.FetchRequest(release, names, role, folder))


@publisher.command("share")
@click.argument("release")
@click.argument("key")
@click.option(
    "--hours", type=click.IntRange(1, MAX_HOURS), required=True, help="How long the link is to work."
)
@click.option("--reason", required=True, help="For whom and what for, on record.")
@common
def share_(*, release: str, key: str, hours: int, reason: str) -> Outcome:
    """Give somebody outside a link to one staged file of RELEASE, for some hours.

    \b
    publisher share 3.14.0b3 python-3.14.0b3-amd64.exe --hours 24 \\
      --reason 'Ann tries it on ARM'

    For the release manager. KEY is a public key or the end of one, such as a file name. The link leads to the
    version that is staged now, and is the only thing on stdout; whoever has it can download the file. It is
    stored nowhere: what is kept (who, when, until, which version, why) is in _state/shares/. Signed with the
    credentials of a session, a link ends with that session at the latest.
    """  # noqa: D301
    return share.run(wire(), share.ShareRequest(release, key, hours, reason))


@publisher.command("wait")
@click.argument("release")
@click.option(
    "--role",
    "roles",
    multiple=True,
    shell_complete=complete_role,
    help="Wait for this role alone; can be given again.  [default: all that deliver]",
)
@click.option("--live", is_flag=True, help="Wait until RELEASE is public; needs no credentials.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Give up then, with 3.  [default: never]",
)
@common
def wait_(*, release: str, roles: tuple[str, ...], live: bool, timeout: float | None) -> Outcome:
    """Wait until all roles have handed over RELEASE, and nothing is refused; or until it is public.

    \b
    publisher wait 3.14.0b3 --timeout 7200   until all have handed over
    publisher wait 3.14.0b3 --role windows   until windows has
    publisher wait 3.14.0b3 --live           until it is public

    A line on stderr tells each change; --json answers at the end. --live asks for every file that the profile
    requires, as anybody can. Otherwise the release manager waits for everything that promote asks of the
    roles. A builder or tester names roles whose files it may read (a builder: its own), and learns whether
    their hand-over is complete in itself: the attempt, holds and what is public it may not see.
    """  # noqa: D301
    request = wait.WaitRequest(release, roles, timeout)
    if not live:
        return wait.run(wire(), request)
    if roles:
        raise UsageError("--live looks at the whole release", "leave out --role")
    settings = _settings()
    return wait.run_live(settings.visit(settings), request)


@publisher.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@common
def completion_(*, shell: str) -> Outcome:
    """Print what SHELL has to load to complete commands, options and roles.

    \b
    bash  eval "$(publisher completion bash)"  in ~/.bashrc
    zsh   eval "$(publisher completion zsh)"   in ~/.zshrc
    fish  publisher completion fish | source   in config.fish
    """  # noqa: D301
    return Script(make_script(publisher, _PROGRAM, shell))


@publisher.command("hold")
@click.argument("release")
@role_option
@click.option("--reason", required=True, help="What is wrong, for everybody to read.")
@common
def hold_(*, release: str, role: str, reason: str) -> Outcome:
    """Stop RELEASE from being promoted until your role lifts the hold."""
    return hold.run_hold(wire(), release, role, reason)


@publisher.command()
@click.argument("release")
@role_option
@common
def unhold(*, release: str, role: str) -> Outcome:
    """Lift your role's hold on RELEASE."""
    return hold.run_unhold(wire(), release, role)


@publisher.command("status")
@click.argument("releases", nargs=-1)
@click.option("--check", is_flag=True, help="Exit with 3 unless each release is ready, planned or done.")
@common
def status_(*, releases: tuple[str, ...], check: bool) -> Outcome:
    """Show how RELEASES stand and what to do next; without a name, all in progress."""
    return status.run(wire(), releases, check=check)


@publisher.command("sign")
@click.argument("releases", nargs=-1, required=True)
@common
def sign_(*, releases: tuple[str, ...]) -> Outcome:
    """Sign every artifact of RELEASES that is handed over and has no valid signature yet, by its digest.

    One login signs all: a token in SIGSTORE_IDENTITY_TOKEN, the surrounding CI's, or a browser. Signing
    writes digests, identity and time into a public log. Run it again after an interruption: it signs what
    is left.
    """
    return sign.run(wire(), releases)


@publisher.command("verify")
@click.argument("release")
@click.option("--public", is_flag=True, help="Compare what is public with its records; needs no credentials.")
@common
def verify_(*, release: str, public: bool) -> Outcome:
    """Verify the signatures and SBOMs of what is staged of RELEASE, as promote does; offline.

    \b
    publisher verify 3.14.0b3            what is staged: 0 if all is good, 3 if not
    publisher verify 3.14.0b3 --public   download what is public, and compare it with the signed records
    """  # noqa: D301
    if not public:
        return verify.run(wire(), release)
    settings = _settings()
    return verify.run_public(settings.visit(settings), release)


@publisher.command("attach")
@click.argument("release")
@click.argument("file")
@common
def attach_(*, release: str, file: str) -> Outcome:
    """Stage FILE, a sidecar of the release manager's such as Python-3.13.9.tgz.asc, once it is checked.

    FILE has the name that it is to have in public.
    """
    return sidecars.run_attach(wire(), release, file)


@publisher.command("amend")
@click.argument("release")
@click.argument("file")
@click.option("--reason", required=True, help="Why it is repaired, on record.")
@common
def amend_(*, release: str, file: str, reason: str) -> Outcome:
    """Repair a public sidecar of RELEASE with FILE, on record; never an artifact.

    FILE has the name of the public sidecar. Run it again after an interruption: it finishes.
    """
    return sidecars.run_amend(wire(), release, file, reason)


@publisher.command("promote")
@click.argument("releases", nargs=-1, required=True)
@click.option("-n", "--dry-run", is_flag=True, help="Show the plan and stop.")
@click.option("--plan", metavar="DIGEST", help="Go on only if the plan is still the one reviewed.")
@click.option(
    "--waive", metavar="RULE:SUBJECT", multiple=True, help="Go on against missing, extra, hold or pointer."
)
@click.option(
    "--give-up",
    metavar="STEP",
    multiple=True,
    type=click.Choice(sorted(CAN_BE_GIVEN_UP)),
    help="Leave out a step after go-live.",
)
@click.option("--reason", help="Why it is waived or given up, for the record.")
@click.option("--announce-from", metavar="FILE", help="The announcement's text; see: publisher announce.")
@click.option("--create-release", is_flag=True, help="Create the row of a release that is not listed yet.")
@click.option(
    "--deep", is_flag=True, help="Download every file that it makes public once and compare its digest."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@common
def promote_(
    *,
    releases: tuple[str, ...],
    dry_run: bool,
    plan: str | None,
    waive: tuple[str, ...],
    give_up: tuple[str, ...],
    reason: str | None,
    announce_from: str | None,
    create_release: bool,
    deep: bool,
    yes: bool,
) -> Outcome:
    """Make everything of RELEASES public, or say everything that stands in the way.

    Run it again after an interruption: it finishes what it began.
    """
    request = promote.PromoteRequest(
        releases,
        _parse_waivers(waive, _check_reason(waive + give_up, reason)),
        plan,
        dry_run,
        deep,
        Extras(announce.read_prose(announce_from), create_release),
        dict.fromkeys(give_up, (reason or "").strip()),
        options=_list_options(give_up, reason, announce_from, create_release=create_release),
    )
    return promote.run(wire(), request, _make_confirm(yes=yes))


@publisher.command("pointers")
@click.argument("releases", nargs=-1, required=True)
@click.option("-n", "--dry-run", is_flag=True, help="Show the plan and stop.")
@click.option("--plan", metavar="DIGEST", help="Go on only if the plan is still the one reviewed.")
@click.option(
    "--waive", metavar="RULE:SUBJECT", multiple=True, help="Go on against missing, extra, hold or pointer."
)
@click.option("--reason", help="Why it is waived, for the record.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@common
def pointers_(
    *,
    releases: tuple[str, ...],
    dry_run: bool,
    plan: str | None,
    waive: tuple[str, ...],
    reason: str | None,
    yes: bool,
) -> Outcome:
    """Swap the sets of mutable files that RELEASES have staged; all else of them is public already.

    promote does it by itself; this is for a set that came late, or was built again.
    """
    waivers = _parse_waivers(waive, _check_reason(waive, reason))
    request = pointers.PointersRequest(releases, waivers, plan, dry_run)
    return pointers.run(wire(), request, _make_confirm(yes=yes))


@publisher.command("index")
@click.argument("releases", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Of the whole tree, however old.")
@common
def index_(*, releases: tuple[str, ...], everything: bool) -> Outcome:
    """Bring the index pages of RELEASES' folders to what is public; promote does it by itself."""
    if bool(releases) == everything:
        raise UsageError("found neither a release nor --all, or both", "name releases, or give --all")
    return index.run(wire(), releases)


@publisher.command("list")
@click.argument("release")
@click.option("-n", "--dry-run", is_flag=True, help="Show what would change and stop.")
@click.option("--create-release", is_flag=True, help="Create the release's row if there is none.")
@common
def list_(*, release: str, dry_run: bool, create_release: bool) -> Outcome:
    """Bring the release database's rows of RELEASE to what is public of it.

    promote does it by itself; this is for a release that was public before, or whose listing was given up.
    """
    return listing.run(wire(), release, dry_run=dry_run, create=create_release)


@publisher.command("announce")
@click.argument("releases", nargs=-1, required=True)
@click.option("--from", "prose", metavar="FILE", help="Your own text, in Markdown; {{ files }} is filled in.")
@click.option("-n", "--dry-run", is_flag=True, help="Print the text and stop.")
@click.option(
    "--form", type=click.Choice(announce.FORMS), default="post", show_default=True, help="For --dry-run."
)
@click.option("--author", default="", help="For a blog entry.")
@click.option("--tag", "tags", multiple=True, help="For a blog entry; can be given again.")
@common
def announce_(
    *,
    releases: tuple[str, ...],
    prose: str | None,
    dry_run: bool,
    form: str,
    author: str,
    tags: tuple[str, ...],
) -> Outcome:
    """Announce RELEASES, which are public and listed, in one post; never twice.

    \b
    publisher announce 3.14.0b3 --dry-run                 a complete draft
    publisher announce 3.14.0b3 --from post.md --dry-run  your text, its facts filled in
    publisher announce 3.14.0b3 --from post.md            posted
    """  # noqa: D301
    return announce.run(wire(), announce.AnnounceRequest(releases, prose, dry_run, form, author, tags))


@publisher.command("audit")
@click.argument("releases", nargs=-1)
@click.option("--deep", is_flag=True, help="Download every file once and compare its digest.")
@common
def audit_(*, releases: tuple[str, ...], deep: bool) -> Outcome:
    """Compare records, public bucket, CDN, gate, pages and listing of RELEASES, or of the whole site.

    \b
    publisher audit --json        for a scheduler: 3 if there is a fault, 0 if not
    publisher audit 3.14.0        one release
    publisher audit 3.14.0 --deep

    For auditors: it takes no lease and writes nothing. Warnings and notes leave the exit status at 0.
    """  # noqa: D301
    return audit.run(wire(), releases, deep=deep)


@publisher.command("adopt")
@click.argument("prefix")
@click.option("-n", "--dry-run", is_flag=True, help="Show what would be adopted and stop.")
@click.option("--symlinks", metavar="FILE", help="The tree's symbolic links: 'link -> target', one a line.")
@common
def adopt_(*, prefix: str, dry_run: bool, symlinks: str | None) -> Outcome:
    """Take the public files in the folder PREFIX in, so that audits watch them; '.' means all of them.

    \b
    publisher adopt python/2.7.18 --dry-run
    publisher adopt . --symlinks links.txt

    For files that were public before the gate. Their digests are written down; no file is changed. Links to
    folders become aliases. Run it again after an interruption: it goes on.
    """  # noqa: D301
    return adopt.run(wire(), adopt.AdoptRequest(prefix, symlinks, dry_run))


@publisher.command("withdraw")
@click.argument("release")
@click.argument("keys", metavar="[KEY]...", nargs=-1)
@click.option("--reason", required=True, help="Why, on record and for everybody to read.")
@click.option("--unlist", is_flag=True, help="Only hide it from index pages and listing.")
@click.option("--confirm", metavar="RELEASE", help="The release's name, instead of typing it when asked.")
@common
def withdraw_(
    *, release: str, keys: tuple[str, ...], reason: str, unlist: bool, confirm: str | None
) -> Outcome:
    """Take RELEASE out of sight, or some files of it: every URL answers 410, and nothing lists it.

    \b
    publisher withdraw 3.14.0b3 --reason 'the installer deletes files'
    publisher withdraw 3.14.0b3 python-3.14.0b3-amd64.exe --reason 'flagged as malware'

    A KEY is a public key or the end of one, such as a file name; the sidecars of an artifact go with it. A
    promotion that is under way is stopped. Bytes and versions stay, and it can be taken back, by restore.
    Run it again after an interruption: it finishes. What is withdrawn already is looked at once more, and
    caches that still have it are told again to forget.
    """  # noqa: D301
    request = withdraw.WithdrawRequest(release, keys, reason, unlist)
    return withdraw.run_withdraw(wire(), request, _confirm_name(release, confirm))


@publisher.command("restore")
@click.argument("release")
@click.option("--reason", required=True, help="Why, on record and for everybody to read.")
@click.option("--confirm", metavar="RELEASE", help="The release's name, instead of typing it when asked.")
@common
def restore_(*, release: str, reason: str, confirm: str | None) -> Outcome:
    """Take back everything that was withdrawn of RELEASE: it is served and listed again.

    Run it again after an interruption: it finishes.
    """
    return withdraw.run_restore(wire(), release, reason, _confirm_name(release, confirm))


@publisher.group("gate")
def gate_() -> None:
    """Look after the CDN's store that hides and shows files."""


@gate_.command()
@common
def rebuild() -> Outcome:
    """Make the gate's store say again what the state in the staging bucket says.

    For a store that was lost or replaced. Files stay hidden or public meanwhile, never half.
    """
    return gate.run_rebuild(wire())


def _confirm_name(release: str, given: str | None) -> withdraw.Confirm:
    """Let the person type the release's name, unless `given` is it already."""
    settings = _settings()
    if given is not None and given != release:
        raise UsageError(f"found --confirm {given}, expected {release}", "name the same release twice")

    def confirm(preview: Preview) -> bool:
        if not settings.quiet:
            settings.make_output().show_withdrawal(preview)
        if given is not None:
            return True
        if not sys.stdin.isatty():
            raise UsageError("there is no terminal to ask on", f"run again with --confirm {release}")
        asked = "Type the release's name to do this"
        return click.prompt(asked, default="", show_default=False, err=True) == release

    return confirm


def wire() -> World:
    """Make the world of the command that runs."""
    settings = _settings()
    return settings.connect(settings)


def run(arguments: list[str] | None = None, settings: Settings | None = None) -> int:
    """Run the command line and give its exit status.

    Args:
        arguments: What stands after the program's name; by default that of this process.
        settings: What the options start from; tests let them connect to a world of their own.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    settings = settings or Settings()
    # Help and misuse are printed by click, which knows nothing of what a stream cannot show.
    prepare_streams()
    try:
        outcome = publisher.main(arguments, prog_name=_PROGRAM, obj=settings, standalone_mode=False)
    except click.ClickException as error:
        return _show_misuse(settings, arguments, error)
    except (KeyboardInterrupt, click.Abort, StoppedError) as error:
        return _show_stop(settings, arguments, error)
    except PublisherError as error:
        if settings.verbose:
            traceback.print_exc()
        settings.make_output().show_error(settings.command, error)
        return error.exit_status
    except Exception as error:
        if settings.verbose:
            traceback.print_exc()
        unexpected = PublisherError(
            f"unexpected {type(error).__name__}: {error}", "report it with what --verbose shows"
        )
        settings.make_output().show_error(settings.command, unexpected)
        return Exit.FAILED
    if isinstance(outcome, int):
        return outcome
    _show_outcome(settings, outcome)
    return outcome.status


def main(arguments: list[str] | None = None, settings: Settings | None = None) -> None:
    """Run as a program. To be told to end is to be interrupted: the lease is given back."""
    signal.signal(signal.SIGTERM, _interrupt)
    status = run(arguments, settings)
    try:
        sys.stdout.flush()
    except OSError:
        # Nobody reads the answer any more; the status still tells.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)


def _show_outcome(settings: Settings, outcome: Outcome) -> None:
    try:
        settings.make_output().show(settings.command, outcome)
    except OSError as error:
        # What was done is done; the status says what that was.
        settings.make_output().warn(f"the answer could not be written: {error}")


def _interrupt(number: int, frame: FrameType | None) -> None:
    _ = number, frame
    raise KeyboardInterrupt


def _show_stop(settings: Settings, arguments: list[str], error: BaseException) -> int:
    said = "interrupted"
    if isinstance(error, StoppedError):
        said = str(error)
        # As click does for its own: the terminal has written ^C.
        click.echo(err=True)
    again = StoppedError(said, f"to go on: {shlex.join([_PROGRAM, *arguments])}")
    settings.make_output().show_error(settings.command, again)
    return Exit.INTERRUPTED


def _show_misuse(settings: Settings, arguments: list[str], error: click.ClickException) -> int:
    context = error.ctx if isinstance(error, click.UsageError) else None
    # What could not be parsed has not set any option.
    if not (settings.as_json or "--json" in arguments):
        error.show()
        return Exit.MISUSED
    settings.as_json = True
    command = _name_command(context) if context else settings.command
    help_command = _PROGRAM if command == _PROGRAM else f"{_PROGRAM} {command}"
    misuse = UsageError(error.format_message(), f"see: {help_command} --help")
    settings.make_output().show_error(command, misuse)
    return Exit.MISUSED


def _name_command(context: click.Context) -> str:
    return context.command_path.removeprefix(f"{_PROGRAM} ")


def _settings() -> Settings:
    return click.get_current_context().ensure_object(Settings)


def _make_confirm(*, yes: bool) -> Callable[[Decision], bool]:
    """Make what shows a plan and asks; without a terminal it wants `yes`."""
    settings = _settings()
    output = settings.make_output()

    def confirm(decision: Decision) -> bool:
        if not (yes and settings.quiet):
            output.show_plan(decision)
        if yes:
            return True
        if not sys.stdin.isatty():
            raise UsageError("there is no terminal to ask on", "review the plan, then run again with --yes")
        return click.confirm("Make this public?", err=True)

    return confirm


def _list_options(
    give_up: tuple[str, ...], reason: str | None, announce_from: str | None, *, create_release: bool
) -> tuple[str, ...]:
    """List the words that a dry run's real run needs besides releases, waivers and plan."""
    words = [word for step in give_up for word in ("--give-up", step)]
    words += ["--reason", reason] if give_up and reason else []
    words += ["--announce-from", announce_from] if announce_from else []
    return (*words, *(["--create-release"] if create_release else []))


def _check_reason(things: tuple[str, ...], reason: str | None) -> str:
    if reason is not None and not things:
        raise UsageError(
            "--reason is why something is waived or given up",
            "add: --waive RULE:SUBJECT or --give-up STEP, or leave it out",
        )
    if things and not (reason or "").strip():
        raise UsageError("--waive and --give-up need a reason, which goes on record", "add: --reason '…'")
    return (reason or "").strip()


def _parse_waivers(waive: tuple[str, ...], reason: str) -> tuple[Waiver, ...]:
    return tuple(_parse_waiver(text, reason) for text in waive)


def _parse_waiver(text: str, reason: str) -> Waiver:
    rule, colon, subject = text.partition(":")
    if not colon or not subject or rule not in WAIVABLE:
        allowed = " or ".join(f"{name}:SUBJECT" for name in sorted(WAIVABLE))
        raise UsageError(f"found --waive {text}, expected {allowed}", "the refusal shows what to write")
    return Waiver(rule, subject, reason)
