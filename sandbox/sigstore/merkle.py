"""A log's Merkle tree (RFC 6962, section 2): what was added, its root, and proofs that a leaf is in it."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.sigstore.encoding import sha256


@dataclass(frozen=True, slots=True)
class Inclusion:
    """Where a leaf is in a tree of `size` leaves, and the hashes that lead from it to `root`."""

    index: int
    size: int
    root: bytes
    path: tuple[bytes, ...]


class MerkleTree:
    """Grows by one leaf at a time; threads may share it.

    Its first leaf is nobody's entry: clients in Go take index 0 for a missing one, so it is never handed out.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._leaves = [_hash_leaf(b"the first leaf")]

    def __len__(self) -> int:
        """Say how many entries there are, without the first leaf."""
        return len(self._leaves) - 1

    def add(self, data: bytes) -> Inclusion:
        """Append an entry, and prove that it is in the tree as it is then."""
        with self._lock:
            self._leaves.append(_hash_leaf(data))
            leaves = tuple(self._leaves)
        index = len(leaves) - 1
        return Inclusion(index, len(leaves), _hash_tree(leaves), _find_path(index, leaves))


def _hash_leaf(data: bytes) -> bytes:
    return sha256(b"\0" + data)


def _hash_tree(leaves: Sequence[bytes]) -> bytes:
    if len(leaves) == 1:
        return leaves[0]
    middle = _split(len(leaves))
    return sha256(b"\1" + _hash_tree(leaves[:middle]) + _hash_tree(leaves[middle:]))


def _find_path(index: int, leaves: Sequence[bytes]) -> tuple[bytes, ...]:
    if len(leaves) == 1:
        return ()
    middle = _split(len(leaves))
    if index < middle:
        return (*_find_path(index, leaves[:middle]), _hash_tree(leaves[middle:]))
    return (*_find_path(index - middle, leaves[middle:]), _hash_tree(leaves[:middle]))


def _split(size: int) -> int:
    """Give the largest power of two below `size`, which is at least 2."""
    return 1 << (size - 1).bit_length() - 1
