"""Shell completion: the script that a shell loads, and the names of roles, which the profile knows."""

from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from publisher.config import load_config
from publisher.documents.profile import load_profile
from publisher.errors import PublisherError

SHELLS = ("bash", "zsh", "fish")


def make_script(command: click.Command, program: str, shell: str) -> str:
    """Make what `shell` has to load, so that it completes the words of `program`."""
    completer = get_completion_class(shell)
    if completer is None:
        raise ValueError(f"found shell {shell!r}, expected one of {', '.join(SHELLS)}")
    variable = f"_{program.upper().replace('-', '_')}_COMPLETE"
    return completer(command, {}, program, variable).source()


def complete_role(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete a role of the site's profile; where there is no profile to be read, nothing."""
    _ = parameter
    # What the common options said so far, which the command line keeps there.
    config = getattr(context.obj, "config", "publisher.toml")
    try:
        profile = load_profile(load_config(Path(str(config))).profile)
    except PublisherError:
        return []
    return [
        CompletionItem(role.name, help=role.owner)
        for role in profile.roles.values()
        if role.name.startswith(incomplete)
    ]
