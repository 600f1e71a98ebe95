"""OpenPGP signatures: good ones of several makers, and each way in which one may be bad."""

import os
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pysequoia import ArmorKind, Profile, Sig, SignatureMode, armor

from publisher.adapters.openpgp import SequoiaOpenPgp
from publisher.core.identity import Rejected
from publisher.errors import ConfigError
from tests.support.openpgp import Holder, a_holder

DATA = Path(__file__).parents[1] / "data" / "openpgp"
PROFILES = Path(__file__).parents[2] / "profiles"
CPYTHON = "7169605F62C751356D054A26A821E680E5FA6305"
EXPIRED = "EB5B81416D12B78142734AFDE6AE8A0BE03DF66F"
BYTES = b"the artifact\n"
# A version 4 signature with a creation time, and nothing that says by whom.
NAMELESS = bytes.fromhex("c2 16 04 00 16 0a 0006 05 02 5e0be100 0000 1234 0008 ff 0008 ff")

Make = Callable[[Holder], bytes]


@pytest.fixture(scope="module")
def holder() -> Holder:
    return a_holder()


@pytest.fixture(scope="module")
def other() -> Holder:
    return a_holder("other@example.org")


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    path = tmp_path / "tool-1.2.0.tgz"
    path.write_bytes(BYTES)
    return path


@pytest.fixture
def keys(tmp_path: Path, holder: Holder, other: Holder) -> Path:
    path = tmp_path / "keys.asc"
    path.write_bytes(b"# The release manager\n" + holder.public + b"\n# Another\n" + other.public)
    return path


def refuse(keys: Path, artifact: Path, signature: bytes, *accepted: str) -> Rejected:
    rejected = SequoiaOpenPgp(keys).verify(artifact, signature, accepted)
    assert isinstance(rejected, Rejected)
    for text in (rejected.found, rejected.expected, rejected.hint):
        assert text
        assert "backtrace" not in text
        assert "\n" not in text
    return rejected


@pytest.mark.parametrize("armored", [True, False])
@pytest.mark.parametrize("data", [BYTES, b"", b"\r\n" * 100_000])
def test_a_good_signature_names_the_certificate_and_not_the_subkey(
    keys: Path, artifact: Path, holder: Holder, armored: bool, data: bytes
) -> None:
    artifact.write_bytes(data)
    signature = holder.sign(data, armor=armored)

    assert SequoiaOpenPgp(keys).verify(artifact, signature, [holder.fingerprint]) == holder.fingerprint
    assert Sig.from_bytes(signature).issuer_fingerprint != holder.fingerprint.lower()


def test_every_certificate_of_the_file_can_be_accepted(
    keys: Path, artifact: Path, holder: Holder, other: Holder
) -> None:
    signature = other.sign(BYTES)

    checker = SequoiaOpenPgp(keys)

    assert checker.verify(artifact, signature, [other.fingerprint]) == other.fingerprint
    accepted = {holder.fingerprint, other.fingerprint}
    assert checker.verify(artifact, signature, accepted) == other.fingerprint


def test_keys_of_the_new_format_are_read_too(tmp_path: Path, artifact: Path) -> None:
    modern = a_holder(profile=Profile.RFC9580)
    path = tmp_path / "modern.asc"
    path.write_bytes(modern.public)

    verified = SequoiaOpenPgp(path).verify(artifact, modern.sign(BYTES), [modern.fingerprint])

    assert verified == modern.fingerprint
    assert len(modern.fingerprint) == 64


def test_many_threads_may_ask_one_checker(keys: Path, artifact: Path, holder: Holder, other: Holder) -> None:
    checker = SequoiaOpenPgp(keys)
    signatures = [holder.sign(BYTES), other.sign(BYTES)] * 10

    def check(signature: bytes) -> str | Rejected:
        return checker.verify(artifact, signature, [holder.fingerprint])

    with ThreadPoolExecutor(8) as pool:
        signers = list(pool.map(check, signatures))

    assert signers[::2] == [holder.fingerprint] * 10
    assert all(isinstance(signer, Rejected) for signer in signers[1::2])


def test_a_changed_file_is_refused(keys: Path, artifact: Path, holder: Holder) -> None:
    rejected = refuse(keys, artifact, holder.sign(BYTES + b"!"), holder.fingerprint)

    assert rejected.found == f"a signature by 0x{holder.fingerprint} that is not good for tool-1.2.0.tgz"
    assert "changed after it was signed" in rejected.hint


def test_a_known_certificate_that_is_not_accepted_is_refused(
    keys: Path, artifact: Path, holder: Holder, other: Holder
) -> None:
    rejected = refuse(keys, artifact, other.sign(BYTES), holder.fingerprint)

    assert rejected.found == f"a signature by 0x{other.fingerprint}"
    assert rejected.expected == f"a signature by 0x{holder.fingerprint}"
    assert "add its fingerprint to the profile" in rejected.hint


def test_the_subkey_that_signs_cannot_be_accepted_by_itself(
    keys: Path, artifact: Path, holder: Holder
) -> None:
    signature = holder.sign(BYTES)
    subkey = str(Sig.from_bytes(signature).issuer_fingerprint).upper()

    assert refuse(keys, artifact, signature, subkey).found == f"a signature by 0x{holder.fingerprint}"


def test_nobody_may_be_accepted(keys: Path, artifact: Path, holder: Holder) -> None:
    assert refuse(keys, artifact, holder.sign(BYTES)).expected == "a signature by nobody"


def test_an_unknown_key_is_refused_with_how_to_add_it(keys: Path, artifact: Path) -> None:
    stranger = a_holder("stranger@example.org")
    signature = stranger.sign(BYTES)
    key = str(Sig.from_bytes(signature).issuer_fingerprint).upper()

    rejected = refuse(keys, artifact, signature, stranger.fingerprint)

    assert rejected.found == f"a signature by key 0x{key}, which is not in keys.asc"
    assert f"gpg --armor --export 0x{key} >> {keys}" in rejected.hint

    with keys.open("ab") as file:
        file.write(stranger.public)

    checker = SequoiaOpenPgp(keys)
    assert checker.verify(artifact, signature, [stranger.fingerprint]) == stranger.fingerprint


def test_an_old_signature_names_its_key_by_the_id_alone(keys: Path, artifact: Path, other: Holder) -> None:
    issuer = bytes.fromhex(str(Sig.from_bytes(other.sign(BYTES)).issuer_key_id))
    signature = NAMELESS.replace(bytes.fromhex("0000 1234"), b"\x00\x0a\x09\x10" + issuer + b"\x12\x34")
    signature = signature.replace(b"\xc2\x16", b"\xc2\x20")

    assert refuse(keys, artifact, signature, "A" * 40).found == f"a signature by 0x{other.fingerprint}"


def test_a_key_that_has_expired_since_is_good() -> None:
    path = DATA / "tool-1.2.0.txt"
    signature = (DATA / "tool-1.2.0.txt.asc").read_bytes()

    assert SequoiaOpenPgp(DATA / "expired-key.asc").verify(path, signature, [EXPIRED]) == EXPIRED


def test_a_key_that_had_expired_when_it_signed_is_refused_until_the_renewed_one_is_there(
    tmp_path: Path,
) -> None:
    path, signature = DATA / "tool-1.2.0.txt", (DATA / "of-2022.asc").read_bytes()
    old, renewed = ((DATA / name).read_bytes() for name in ("expired-key.asc", "renewed-key.asc"))
    keys = tmp_path / "keys.asc"

    rejected = refuse(DATA / "expired-key.asc", path, signature, EXPIRED)

    assert rejected.found == (f"a signature by 0x{EXPIRED} of 2022-06-01, when it had expired on 2020-12-31")
    assert "add the renewed certificate" in rejected.hint
    for text in (renewed, old + renewed, renewed + old):
        keys.write_bytes(text)
        assert SequoiaOpenPgp(keys).verify(path, signature, [EXPIRED]) == EXPIRED


def test_an_end_counts_to_the_second(tmp_path: Path, artifact: Path, holder: Holder) -> None:
    signature = holder.sign(BYTES)
    created = Sig.from_bytes(signature).created
    assert created is not None
    path = tmp_path / "ended.asc"

    path.write_bytes(holder.end_at(created))
    assert "had expired" in refuse(path, artifact, signature, holder.fingerprint).found

    path.write_bytes(holder.end_at(created + timedelta(seconds=1)))
    checker = SequoiaOpenPgp(path)
    assert checker.verify(artifact, signature, [holder.fingerprint]) == holder.fingerprint


def test_a_certificate_without_its_self_signatures_signs_nothing(
    tmp_path: Path, artifact: Path, holder: Holder
) -> None:
    path = tmp_path / "stripped.asc"
    path.write_bytes(holder.strip())

    rejected = refuse(path, artifact, holder.sign(BYTES), holder.fingerprint)

    assert "the key could not sign then" in rejected.hint


def test_a_revoked_key_is_refused(tmp_path: Path, artifact: Path, holder: Holder) -> None:
    path = tmp_path / "revoked.asc"
    path.write_bytes(holder.revoke())

    rejected = refuse(path, artifact, holder.sign(BYTES), holder.fingerprint)

    assert rejected.found == f"a signature by 0x{holder.fingerprint}, which has been revoked"


def test_a_revocation_counts_beside_an_unrevoked_copy(tmp_path: Path, artifact: Path, holder: Holder) -> None:
    path = tmp_path / "both.asc"
    path.write_bytes(holder.revoke() + holder.public)

    assert "revoked" in refuse(path, artifact, holder.sign(BYTES), holder.fingerprint).found


@pytest.mark.parametrize(
    ("name", "found"), [("sha1.asc", "not good for"), ("text-mode.asc", "ignores how its lines end")]
)
def test_a_weak_digest_or_a_signed_text_is_refused(name: str, found: str) -> None:
    rejected = refuse(DATA / "expired-key.asc", DATA / "tool-1.2.0.txt", (DATA / name).read_bytes(), EXPIRED)

    assert found in rejected.found


def test_several_good_signatures_are_good(keys: Path, artifact: Path, holder: Holder, other: Holder) -> None:
    accepted = [holder.fingerprint, other.fingerprint]
    binary = other.sign(BYTES, armor=False) + holder.sign(BYTES, armor=False)
    checker = SequoiaOpenPgp(keys)

    assert checker.verify(artifact, binary, accepted) == other.fingerprint
    assert (
        checker.verify(artifact, holder.sign(BYTES) + b"\n" + other.sign(BYTES), accepted)
        == holder.fingerprint
    )
    assert (
        checker.verify(artifact, armor(binary, ArmorKind.Signature).encode(), accepted) == other.fingerprint
    )


def test_several_signatures_are_refused_for_one_that_is_bad(
    keys: Path, artifact: Path, holder: Holder, other: Holder
) -> None:
    good, bad = (holder.sign(data, armor=False) for data in (BYTES, b"another"))
    foreign = other.sign(BYTES, armor=False)

    for signatures in (good + bad, bad + good, good + foreign, foreign + good):
        refuse(keys, artifact, signatures, holder.fingerprint)
    assert refuse(keys, artifact, good * 9, holder.fingerprint).found == "9 signatures"
    assert SequoiaOpenPgp(keys).verify(artifact, good * 8, [holder.fingerprint]) == holder.fingerprint


def _reframe(make: Callable[[bytes], bytes]) -> Make:
    return lambda holder: make(holder.sign(BYTES))


def _deflate(holder: Holder) -> bytes:
    """Pack a signature into a compressed packet."""
    packed = b"\x02" + zlib.compress(holder.sign(BYTES, armor=False), 9)
    return b"\xc8\xff" + len(packed).to_bytes(4, "big") + packed


NOT_DETACHED: Sequence[tuple[Make, str]] = [
    (lambda _: b"", "an empty file"),
    (lambda _: b" \r\n", "an empty file"),
    (lambda _: b"not found\n", "no OpenPGP data"),
    (lambda _: b"<html>-----BEGIN PGP SIGNATURE", "no OpenPGP data"),
    (lambda _: "für immer".encode("utf-16"), "damaged OpenPGP data"),
    (lambda _: "über".encode(), "damaged OpenPGP data"),
    (lambda _: b"\x00" * 65_537, "a file of 65537 bytes"),
    (
        lambda _: b"-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----\n",
        "OpenPGP data of another kind",
    ),
    (lambda _: NAMELESS, "a signature that does not name its key"),
    (lambda one: one.sign(BYTES, mode=SignatureMode.CLEAR), "a cleartext signature"),
    (lambda one: one.sign(BYTES, mode=SignatureMode.INLINE), "an OpenPGP message"),
    (lambda one: one.sign(BYTES, mode=SignatureMode.INLINE, armor=False), "OpenPGP data of another kind"),
    (lambda one: one.public, "no OpenPGP data"),
    (lambda one: bytes(one.cert), "OpenPGP data of another kind"),
    (lambda one: one.sign(BYTES, armor=False) + bytes(one.cert), "OpenPGP data of another kind"),
    (lambda one: one.sign(BYTES, armor=False) + b"\n", "damaged OpenPGP data"),
    (lambda one: one.sign(BYTES, armor=False)[:-1], "damaged OpenPGP data"),
    (_deflate, "OpenPGP data of another kind"),
    (_reframe(lambda text: text[:200]), "damaged OpenPGP data"),
    (_reframe(lambda text: text[: text.index(b"-----END")]), "damaged OpenPGP data"),
    (_reframe(lambda text: text.replace(b"w", b"*", 1)), "damaged OpenPGP data"),
    (_reframe(lambda text: text.replace(b"SIGNATURE", b"MESSAGE")), "an OpenPGP message"),
    (_reframe(lambda text: b"Here it is:\n" + text), "something else around the signature"),
    (_reframe(lambda text: text + b"Yours\n"), "something else around the signature"),
]


@pytest.mark.parametrize(("make", "found"), NOT_DETACHED)
def test_what_is_no_detached_signature_is_refused_as_what_it_is(
    keys: Path, artifact: Path, holder: Holder, make: Make, found: str
) -> None:
    rejected = refuse(keys, artifact, make(holder), holder.fingerprint)

    assert rejected.found.startswith(found)
    assert "gpg --armor --detach-sign" in rejected.hint


def test_other_ends_of_lines_make_no_difference(keys: Path, artifact: Path, holder: Holder) -> None:
    signature = b"\r\n" + holder.sign(BYTES).replace(b"\n", b"\r\n") + b"\r\n"

    assert SequoiaOpenPgp(keys).verify(artifact, signature, [holder.fingerprint]) == holder.fingerprint


# Made once: a new signature has not always the same length, which hypothesis needs.
FIXED = (DATA / "tool-1.2.0.txt.asc").read_bytes()


@settings(deadline=None)
@given(st.data(), st.sampled_from([FIXED, bytes(Sig.from_bytes(FIXED))]))
def test_no_mutation_signs_another_file_or_raises(data: st.DataObject, signature: bytes) -> None:
    mutated = bytearray(signature)
    for _ in range(data.draw(st.integers(0, 4))):
        start = data.draw(st.integers(0, len(mutated)))
        mutated[start : start + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    checker = SequoiaOpenPgp(DATA / "expired-key.asc")

    assert isinstance(checker.verify(DATA / "sha1.asc", bytes(mutated), [EXPIRED]), Rejected)
    # What is not signed of a signature may change, so the right file may still be good.
    right = checker.verify(DATA / "tool-1.2.0.txt", bytes(mutated), [EXPIRED])
    assert right == EXPIRED or isinstance(right, Rejected)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_are_a_signature_or_raise(data: bytes) -> None:
    checker = SequoiaOpenPgp(DATA / "expired-key.asc")

    assert isinstance(checker.verify(DATA / "tool-1.2.0.txt", data, [EXPIRED]), Rejected)


def test_a_file_that_cannot_be_read_is_refused(keys: Path, tmp_path: Path, holder: Holder) -> None:
    signature = holder.sign(BYTES)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    for path in (tmp_path / "absent", tmp_path, pipe):
        rejected = SequoiaOpenPgp(keys).verify(path, signature, [holder.fingerprint])

        assert rejected == Rejected(
            f"{path.name}, which cannot be read: no such regular file", "the file that is signed"
        )


def test_a_name_that_is_too_long_is_refused(keys: Path, tmp_path: Path, holder: Holder) -> None:
    path = tmp_path / ("x" * 300)

    rejected = SequoiaOpenPgp(keys).verify(path, holder.sign(BYTES), [holder.fingerprint])

    assert isinstance(rejected, Rejected)
    assert "File name too long" in rejected.found


def test_the_keys_are_read_when_they_are_needed_and_once(keys: Path, artifact: Path, holder: Holder) -> None:
    text = keys.read_bytes()
    keys.unlink()
    checker = SequoiaOpenPgp(keys)
    keys.write_bytes(text)
    signature = holder.sign(BYTES)

    assert checker.verify(artifact, signature, [holder.fingerprint]) == holder.fingerprint

    keys.unlink()
    assert checker.verify(artifact, signature, [holder.fingerprint]) == holder.fingerprint


def test_no_file_of_keys_is_a_mistake_in_the_configuration(tmp_path: Path, artifact: Path) -> None:
    with pytest.raises(ConfigError, match="names no file of OpenPGP certificates"):
        SequoiaOpenPgp(None).verify(artifact, b"", [])
    with pytest.raises(ConfigError, match=r"absent\.asc cannot be read: No such file") as caught:
        SequoiaOpenPgp(tmp_path / "absent.asc").verify(artifact, b"", [])

    assert caught.value.next_step


NO_CERTIFICATES: Sequence[tuple[Make, str]] = [
    (lambda _: b"", "no certificate"),
    (lambda _: b"\x00\xff", "no certificate"),
    (lambda one: one.sign(BYTES), "no certificate"),
    (lambda one: bytes(one.cert), "no certificate"),
    (lambda one: one.public + one.sign(BYTES), "something else"),
    (lambda one: one.public + str(one.secret).encode(), "something else"),
    (lambda one: str(one.secret).encode(), "no certificate"),
    (lambda one: armor(bytes(one.secret), ArmorKind.PublicKey).encode(), "holds a secret key"),
    (lambda one: armor(one.sign(BYTES, armor=False), ArmorKind.PublicKey).encode(), "Malformed Cert"),
    (lambda one: one.public + one.public[:300], "expected armored"),
    (lambda one: one.public[:300] + one.public, "expected armored"),
    (lambda one: one.public.replace(b"END PGP", b"END"), "expected armored"),
    (lambda one: one.public.replace(b"KEY BLOCK", b"KEY", 1), "something else"),
]


@pytest.mark.parametrize(("make", "message"), NO_CERTIFICATES)
def test_a_file_that_holds_anything_but_certificates_is_a_mistake(
    tmp_path: Path, artifact: Path, holder: Holder, make: Make, message: str
) -> None:
    path = tmp_path / "keys.asc"
    path.write_bytes(make(holder))

    with pytest.raises(ConfigError, match=message) as caught:
        SequoiaOpenPgp(path).verify(artifact, holder.sign(BYTES), [holder.fingerprint])

    assert str(path) in str(caught.value)
    assert caught.value.next_step
    assert "backtrace" not in str(caught.value)


def test_cpythons_keys_are_read_and_a_real_signature_is_of_no_other_file(artifact: Path) -> None:
    signature = (DATA / "Python-3.13.5.tar.xz.asc").read_bytes()

    rejected = refuse(PROFILES / "cpython-keys.asc", artifact, signature, CPYTHON)

    assert rejected.found == f"a signature by 0x{CPYTHON} that is not good for tool-1.2.0.tgz"
