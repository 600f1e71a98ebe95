"""SHA256SUMS and COMMIT: what a builder may write, and what is sent back with the reason."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.core.digests import Digest, of_bytes
from publisher.core.sums import SumsProblem, format_sums, parse_commit, parse_sums

ONE = of_bytes(b"one")
TWO = of_bytes(b"two")
DIGESTS = st.binary(max_size=4).map(of_bytes)
LETTERS = st.characters(exclude_characters="/\\", exclude_categories=["C", "Z"]) | st.just(" ")
SEGMENTS = st.text(LETTERS, min_size=1, max_size=8).filter(lambda segment: segment not in {".", ".."})
NAMES = st.lists(SEGMENTS, min_size=1, max_size=3).map("/".join)
HAND_OVERS = st.dictionaries(NAMES, DIGESTS, min_size=1, max_size=5)


def read(data: bytes) -> Mapping[str, Digest]:
    parsed = parse_sums(data)
    assert not isinstance(parsed, tuple), parsed
    return parsed


def refuse(data: bytes) -> list[tuple[int, str]]:
    parsed = parse_sums(data)
    assert isinstance(parsed, tuple), parsed
    assert all(problem.expected and problem.cure for problem in parsed)
    return [(problem.line, problem.found) for problem in parsed]


@given(HAND_OVERS)
def test_what_is_written_is_read_again_unchanged(digests: Mapping[str, Digest]) -> None:
    assert read(format_sums(digests)) == digests


@given(HAND_OVERS, st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_every_way_of_writing_a_hand_over_means_the_same(
    digests: Mapping[str, Digest], crlf: bool, star: bool, dot: bool, upper: bool
) -> None:
    data = format_sums(digests).decode()
    if upper:
        data = "".join(line[:64].upper() + line[64:] + "\n" for line in data.split("\n") if line)
    if star:
        data = "".join(line[:65] + "*" + line[66:] + "\n" for line in data.split("\n") if line)
    if dot:
        data = "".join(line[:66] + "./" + line[66:] + "\n" for line in data.split("\n") if line)
    if crlf:
        data = data.replace("\n", "\r\n")

    assert read(data.encode()) == digests


@given(st.binary(max_size=300))
def test_arbitrary_bytes_give_digests_or_problems_and_never_crash(data: bytes) -> None:
    parsed = parse_sums(data)

    assert parsed
    if isinstance(parsed, tuple):
        assert all(problem.line >= 1 and problem.cure for problem in parsed)


@given(HAND_OVERS, st.integers(0, 300), st.binary(min_size=1, max_size=6))
def test_a_damaged_hand_over_gives_digests_or_problems(
    digests: Mapping[str, Digest], where: int, noise: bytes
) -> None:
    data = format_sums(digests)
    parsed = parse_sums(data[:where] + noise + data[where:])

    assert parsed
    if not isinstance(parsed, tuple):
        assert not any({"", ".", ".."} & set(name.split("/")) or "\\" in name for name in parsed)


def test_lines_are_sorted_and_written_as_sha256sum_does() -> None:
    assert format_sums({"b": TWO, "a": ONE}) == f"{ONE}  a\n{TWO}  b\n".encode()


def test_empty_lines_and_a_missing_last_newline_do_not_matter() -> None:
    assert read(f"\n{ONE}  a\r\n\r\n{TWO}  b".encode()) == {"a": ONE, "b": TWO}


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n\n"])
def test_an_empty_hand_over_is_refused(data: bytes) -> None:
    assert refuse(data) == [(1, "no line")]


@pytest.mark.parametrize("again", [f"{ONE}  a", f"{TWO} *./a"])
def test_a_name_that_is_listed_twice_is_refused(again: str) -> None:
    assert refuse(f"{ONE}  a\n{again}\n".encode()) == [(2, "a for the second time")]


@pytest.mark.parametrize(
    "name", ["/a", "../a", "a/../b", "a/..", "a\\b", "a//b", "a/", "./", "././a", "a/./b", "."]
)
def test_a_name_that_leaves_the_folder_or_names_no_file_is_refused(name: str) -> None:
    ((line, found),) = refuse(f"{ONE}  {name}\n".encode())

    assert (line, found) == (1, repr(name.removeprefix("./")))


def test_an_escaped_name_is_refused() -> None:
    assert refuse(f"\\{ONE}  a\\nb\n".encode()) == [(1, "an escaped name (the line starts with a backslash)")]


@pytest.mark.parametrize("name", ["a\rb", "a\r\r", "a\x1b[2J", "a\x7f", "a\u2028b"])
def test_a_name_with_a_character_that_cannot_be_seen_is_refused(name: str) -> None:
    assert refuse(f"{TWO}  b\n{ONE}  {name}\n".encode()) == [(2, repr(name.removesuffix("\r")))]


@pytest.mark.parametrize(
    "line",
    [
        f"{ONE} a",
        f"{ONE}\ta",
        f"{ONE}  ",
        f"{ONE}",
        f"{ONE[:-1]}  a",
        f"{ONE[:-1]}g  a",
        f"SHA256 (a) = {ONE}",
        f" {ONE}  a",
        "   ",
    ],
)
def test_a_line_of_another_form_is_refused_and_shown(line: str) -> None:
    assert refuse(f"{line}\n".encode()) == [(1, repr(line[:90]))]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf_16_is_refused_with_the_powershell_fix(encoding: str) -> None:
    parsed = parse_sums(f"{ONE}  a\n".encode(encoding))

    assert isinstance(parsed, tuple)
    assert [problem.found for problem in parsed] == ["UTF-16 text"]
    assert "UTF8Encoding]::new($false)" in parsed[0].cure


def test_a_byte_order_mark_is_refused_with_the_powershell_fix() -> None:
    parsed = parse_sums(f"{ONE}  a\n".encode("utf-8-sig"))

    assert isinstance(parsed, tuple)
    assert [problem.found for problem in parsed] == ["a UTF-8 byte order mark"]
    assert "in PowerShell" in parsed[0].cure


def test_bytes_that_are_no_utf_8_are_refused_with_their_line() -> None:
    assert refuse(f"{ONE}  a\n{TWO}  ".encode() + b"\xe9\n") == [(2, "bytes that are not UTF-8")]


def test_every_problem_is_reported_at_once() -> None:
    assert parse_sums(f"nothing\n{ONE}  a\n{ONE}  a\n{ONE}  ../b\n".encode()) == (
        SumsProblem(1, "'nothing'", "64 hex digits, two spaces, a name", "make the file with sha256sum"),
        SumsProblem(3, "a for the second time", "each name once", "remove one of the lines"),
        SumsProblem(
            4, "'../b'", "a name relative to the release's folder, with /", "run sha256sum inside that folder"
        ),
    )


@pytest.mark.parametrize("data", [b"ABC123", b"abc123\n", b"abc123\r\n", b"  abc123  \n"])
def test_a_commit_is_one_line_in_lower_case(data: bytes) -> None:
    assert parse_commit(data) == "abc123"


@pytest.mark.parametrize("data", [b"", b"\n", b"  \n", b"a\nb\n", b"\xff\xfea\x00", "é".encode()])
def test_anything_but_one_line_is_no_commit(data: bytes) -> None:
    assert parse_commit(data) is None


@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_a_commit_or_none(data: bytes) -> None:
    commit = parse_commit(data)

    assert commit is None or (commit and commit == commit.strip().lower())
