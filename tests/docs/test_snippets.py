"""The snippets for CI and PowerShell: shown as they are, asking for no more than they need."""

import re
from typing import Any

import pytest
import yaml

from publisher.core.sums import SumsProblem, parse_sums
from tests.docs.pages import DOCS, ROOT, find_blocks, read

PINNED = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
POWERSHELL = (DOCS / "ci" / "handover.ps1").read_text("utf-8")
SHELL = (DOCS / "ci" / "handover.sh").read_text("utf-8")
DIGEST = "a" * 64


def load(name: str) -> dict[Any, Any]:
    return yaml.safe_load((DOCS / "ci" / name).read_text("utf-8"))


def list_subjects(issuer: str) -> dict[str, list[str]]:
    """Give the token subjects that the example of a stack trusts, by role."""
    config = yaml.safe_load((ROOT / "Pulumi.example.yaml").read_text("utf-8"))["config"]
    roles: list[dict[str, Any]] = config["publish-gate:roles"]
    return {role["name"]: role["trust"].get("oidc", {}).get(issuer, []) for role in roles}


@pytest.mark.parametrize("path", sorted((DOCS / "ci").iterdir()), ids=lambda path: path.name)
def test_the_page_shows_each_file_as_it_is(path: Any) -> None:
    (block,) = [block for block in find_blocks(read("builders.md")) if block.file == f"ci/{path.name}"]
    assert block.text == path.read_text("utf-8")


GITHUB: dict[str, Any] = load("github.yml")["jobs"]
AZURE: dict[str, Any] = {job["job"]: job for job in load("azure.yml")["jobs"]}


class TestGitHub:
    def test_only_the_job_that_hands_over_may_ask_for_a_token(self) -> None:
        assert load("github.yml")["permissions"] == {}
        assert {name: job["permissions"] for name, job in GITHUB.items()} == {
            "build": {"contents": "read"},
            "test": {"contents": "read"},
            "hand-over": {"contents": "read", "id-token": "write"},
        }

    def test_it_hands_over_after_the_tests(self) -> None:
        assert "test" in GITHUB["hand-over"]["needs"]
        assert GITHUB["test"]["needs"] == "build"

    def test_the_job_with_credentials_runs_nothing_of_what_was_built(self) -> None:
        (checkout,) = [s for s in GITHUB["hand-over"]["steps"] if "checkout" in s.get("uses", "")]
        assert checkout["with"] == {"sparse-checkout": "ci", "persist-credentials": False}
        (run,) = [step["run"] for step in GITHUB["hand-over"]["steps"] if "run" in step]
        assert run.startswith("sh ci/handover.sh ")
        # An input in a script would be code of whoever starts the workflow.
        assert "${{" not in run

    def test_its_credentials_come_by_oidc_for_the_role_that_the_example_trusts(self) -> None:
        (step,) = [s for s in GITHUB["hand-over"]["steps"] if "aws-actions/" in s.get("uses", "")]
        assert set(step["with"]) == {"role-to-assume", "aws-region"}
        assert step["with"]["role-to-assume"].endswith(":role/example-downloads-role-source")
        subject = f"repo:example/release-tools:environment:{GITHUB['hand-over']['environment']}"
        assert list_subjects("github")["source"] == [subject]
        assert subject in (DOCS / "ci" / "github.yml").read_text("utf-8")

    def test_every_action_is_pinned_by_commit(self) -> None:
        uses = re.findall(r"uses: (.+)", (DOCS / "ci" / "github.yml").read_text("utf-8"))
        assert uses
        assert [line for line in uses if not PINNED.fullmatch(line)] == []

    def test_nothing_in_it_is_a_secret(self) -> None:
        assert "secrets." not in (DOCS / "ci" / "github.yml").read_text("utf-8")


class TestAzure:
    def test_it_hands_over_after_the_tests(self) -> None:
        assert "test" in AZURE["hand_over"]["dependsOn"]
        assert AZURE["test"]["dependsOn"] == "build"

    def test_only_the_job_that_hands_over_names_the_connection(self) -> None:
        text = {name: yaml.safe_dump(job) for name, job in AZURE.items()}
        assert [name for name in text if "awsCredentials" in text[name]] == ["hand_over"]

    def test_its_connection_is_the_one_that_the_example_trusts(self) -> None:
        (task,) = [step for step in AZURE["hand_over"]["steps"] if "task" in step]
        subject = f"sc://example/release/{task['inputs']['awsCredentials']}"
        assert list_subjects("azure")["windows"] == [subject]
        assert subject in (DOCS / "ci" / "azure.yml").read_text("utf-8")

    def test_it_calls_the_script_with_the_parameters_that_it_has(self) -> None:
        (task,) = [step for step in AZURE["hand_over"]["steps"] if "task" in step]
        script = task["inputs"]["inlineScript"]
        given = set(re.findall(r" -([A-Z]\w+) ", script)) - {"File"}
        named = set(re.findall(r"\[string\] \$(\w+)", POWERSHELL))
        assert named == given - {"NoProfile"}
        # A parameter in a script would be code of whoever starts the pipeline.
        assert "${{" not in script


class TestPowerShell:
    def test_it_writes_utf8_without_a_byte_order_mark(self) -> None:
        assert "$utf8 = [Text.UTF8Encoding]::new($false)" in POWERSHELL
        assert len(re.findall(r"^\[IO\.File\]::WriteAllText\(.+, \$utf8\)$", POWERSHELL, re.MULTILINE)) == 2
        code = "\n".join(line for line in POWERSHELL.splitlines() if not line.startswith("#"))
        assert not re.search(r"Out-File|Set-Content|Add-Content|Tee-Object|[^-]>", code)

    def test_it_writes_names_with_slashes_and_ends_lines_with_lf(self) -> None:
        assert r".Replace('\', '/')" in POWERSHELL
        assert '"$hash  $name`n"' in POWERSHELL
        assert "Get-FileHash -Algorithm SHA256" in POWERSHELL

    def test_it_looks_at_the_status_of_every_command(self) -> None:
        lines = POWERSHELL.splitlines()
        calls = [number for number, line in enumerate(lines) if line.startswith("aws ")]
        assert calls
        assert all(lines[number + 1].startswith("if ($LASTEXITCODE) { throw ") for number in calls)


@pytest.mark.parametrize("script", [SHELL, POWERSHELL], ids=["sh", "ps1"])
class TestBoth:
    def test_the_sums_are_uploaded_last_and_apart(self, script: str) -> None:
        copies = re.findall(r"^aws s3 cp .+$", script, re.MULTILINE)
        assert len(copies) == 2
        assert "--recursive --exclude SHA256SUMS " in copies[0]
        assert copies[1].endswith('SHA256SUMS"')
        assert "--recursive" not in copies[1]

    def test_every_file_goes_up_whole_and_with_its_digest(self, script: str) -> None:
        first = script.index("aws configure set s3.multipart_threshold 5GB")
        assert first < script.index("aws s3 cp")
        assert all("--checksum-algorithm SHA256 " in line for line in re.findall(r"aws s3 cp .+", script))


def refuse(data: bytes) -> SumsProblem:
    problems = parse_sums(data)
    assert isinstance(problems, tuple)
    return problems[0]


@pytest.mark.parametrize(
    ("encoding", "name", "found"),
    [
        ("utf-16", "python/3.14.0/a.exe", "UTF-16"),
        ("utf-8-sig", "python/3.14.0/a.exe", "byte order mark"),
        ("utf-8", r"python\3.14.0\a.exe", r"python\\3.14.0\\a.exe"),
        ("utf-8", "/srv/python/3.14.0/a.exe", "/srv/python"),
        ("utf-8", "../python/3.14.0/a.exe", "../python"),
    ],
)
def test_what_powershell_writes_by_itself_is_refused(encoding: str, name: str, found: str) -> None:
    problem = refuse(f"{DIGEST}  {name}\r\n".encode(encoding))
    assert found in problem.found


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_the_page_gives_the_cure_that_the_refusal_gives(encoding: str) -> None:
    cure = refuse(f"{DIGEST}  python/a.exe\r\n".encode(encoding)).cure.partition("with: ")[2]
    assert cure
    assert f"`{cure}`" in read("builders.md")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_capital_digits_and_either_end_of_line_are_fine(end: str) -> None:
    assert parse_sums(f"{DIGEST.upper()}  python/a.exe{end}".encode()) == {"python/a.exe": DIGEST}
