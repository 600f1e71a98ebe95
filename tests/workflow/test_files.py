"""The builder's local files: found and named."""

import hashlib
from pathlib import Path

import pytest

from publisher.errors import Exit, UsageError
from publisher.workflow.files import find_files, hash_file


def a_tree(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return folder


def test_a_folder_means_every_file_in_it_by_its_path_below(tmp_path: Path) -> None:
    a_tree(tmp_path, "a.tgz", "sub/deeper/b.txt", ".hidden")
    (tmp_path / "empty").mkdir()

    found = find_files([str(tmp_path)])

    assert {name: file.size for name, file in found.items()} == {
        "a.tgz": 5,
        "sub/deeper/b.txt": 16,
        ".hidden": 7,
    }
    assert found["a.tgz"].path == tmp_path / "a.tgz"


def test_a_file_means_itself_by_its_own_name(tmp_path: Path) -> None:
    a_tree(tmp_path, "sub/a.tgz", "sub/b.tgz")

    assert list(find_files([str(tmp_path / "sub/a.tgz")])) == ["a.tgz"]


def test_folders_and_files_are_put_together(tmp_path: Path) -> None:
    a_tree(tmp_path, "one/a", "two/b", "c")

    assert set(find_files([str(tmp_path / name) for name in ("one", "two", "c")])) == {"a", "b", "c"}


def test_a_path_that_is_not_there_is_a_misuse(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere does not exist") as caught:
        find_files([str(tmp_path / "nowhere")])
    assert caught.value.next_step
    assert caught.value.exit_status is Exit.MISUSED


def test_two_files_with_one_name_are_a_misuse_that_names_both(tmp_path: Path) -> None:
    a_tree(tmp_path, "one/a", "two/a")

    with pytest.raises(UsageError, match=r"two/a and .*one/a have the same name"):
        find_files([str(tmp_path / "one"), str(tmp_path / "two")])


@pytest.mark.parametrize("names", [[], ["empty"]])
def test_no_file_at_all_is_a_misuse(tmp_path: Path, names: list[str]) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(UsageError, match="found no file"):
        find_files([str(tmp_path / name) for name in names])


def test_a_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    data = bytes(range(256)) * 5000
    (tmp_path / "a").write_bytes(data)

    assert hash_file(tmp_path / "a") == hashlib.sha256(data).hexdigest()


def test_a_file_that_cannot_be_read_is_a_misuse(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*gone") as caught:
        hash_file(tmp_path / "gone")
    assert caught.value.next_step
