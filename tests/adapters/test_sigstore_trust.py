"""The trust root: the pinned one and others, nothing from a cache, and no way around identity and issuer."""

import ast
import json
from collections.abc import Callable, Generator
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

import pytest
from sigstore._internal import tuf
from sigstore.models import Bundle
from sigstore.verify import Verifier, policy

from publisher.adapters.sigstore import SigstoreSigning, SigstoreVerifier, load_trust
from publisher.core.identity import Signed, Statement
from publisher.errors import ConfigError
from sandbox.sigstore import Endpoint, LocalSigstore, run_sigstore
from tests.support.sigstore import DIGEST, RM, TOKEN, Bench, Json, a_statement, change, open_bench, trust_in

ROOT = Path(__file__).parents[2] / "publisher"
PINNED = ROOT / "trust" / "public-good.json"
PRODUCTION = "https://tuf-repo-cdn.sigstore.dev"


@pytest.fixture(scope="module")
def sigstore() -> Generator[LocalSigstore]:
    with run_sigstore() as running:
        yield running


@pytest.fixture
def bench(sigstore: LocalSigstore, tmp_path: Path) -> Bench:
    return open_bench(sigstore, tmp_path)


# --- The pinned one --------------------------------------------------------------------------------------


def test_the_pinned_root_is_the_one_that_the_library_ships() -> None:
    pinned = json.loads(PINNED.read_bytes())
    shipped = files("sigstore._store") / quote(PRODUCTION, safe="")

    for part, name in (("trustedRoot", "trusted_root.json"), ("signingConfig", "signing_config.v0.2.json")):
        assert pinned[part] == json.loads((shipped / name).read_bytes()), (
            f"{PINNED.name} and the library's {name} differ: "
            "look what has changed and why, and refresh it by a reviewed change"
        )


def test_without_a_path_the_pinned_root_is_used() -> None:
    trust = load_trust(None)

    assert trust.source == f"the pinned {PINNED.name}"
    assert trust.logs == load_trust(PINNED).logs
    assert len(trust.logs) == 2
    assert trust.config.force_tlog_version == 1


# --- Others ----------------------------------------------------------------------------------------------


def test_another_instance_can_be_trusted_instead(bench: Bench) -> None:
    found = bench.verifier.verify(bench.log_in().sign(DIGEST), DIGEST, [RM])

    assert isinstance(found, Signed)


def drop(*path: str) -> Callable[[Json], object]:
    def edit(document: Json) -> None:
        for step in path[:-1]:
            document = document[step]
        del document[path[-1]]

    return edit


def put(value: object, *path: str | int) -> Callable[[Json], object]:
    def edit(document: Json) -> None:
        node = document
        for step in path[:-1]:
            node = node[step]  # pyright: ignore[reportArgumentType] - a list further down
        node[path[-1]] = value  # pyright: ignore[reportArgumentType]

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        drop("mediaType"),
        drop("trustedRoot"),
        drop("signingConfig"),
        drop("trustedRoot", "tlogs"),
        put([], "trustedRoot", "tlogs"),
        put([], "trustedRoot", "ctlogs"),
        put([], "trustedRoot", "certificateAuthorities"),
        put("bm9uZQ==", "trustedRoot", "tlogs", 0, "publicKey", "rawBytes"),
        put("bm9uZQ==", "trustedRoot", "ctlogs", 0, "publicKey", "rawBytes"),
        put(
            [{"rawBytes": "bm9uZQ=="}],
            "trustedRoot",
            "certificateAuthorities",
            0,
            "certChain",
            "certificates",
        ),
        put(
            [{"rawBytes": "bm9uZQ=="}], "trustedRoot", "timestampAuthorities", 0, "certChain", "certificates"
        ),
        put("application/vnd.dev.sigstore.clienttrustconfig.v9+json", "mediaType"),
    ],
)
def test_a_broken_trust_configuration_is_refused_when_it_is_read(
    sigstore: LocalSigstore, tmp_path: Path, edit: Callable[[Json], object]
) -> None:
    with pytest.raises(
        ConfigError, match=r"trust\.json: found .*, expected a Sigstore client trust"
    ) as caught:
        trust_in(change(sigstore.trust_config(), edit), tmp_path)
    assert "sigstore --trust-config" in caught.value.next_step


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[]", b"7", b"[" * 100_000])
def test_what_is_no_document_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "trust.json"
    path.write_bytes(data)

    with pytest.raises(ConfigError, match=r"trust\.json: found "):
        load_trust(path)


def test_a_trusted_root_alone_is_told_from_a_trust_configuration(
    sigstore: LocalSigstore, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=r"found mediaType 'application/vnd\.dev\.sigstore\.trustedroot"):
        trust_in(sigstore.trust_config()["trustedRoot"], tmp_path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(ConfigError, match=f"{path}: found no readable text"):
            load_trust(path)


# --- Where to sign ---------------------------------------------------------------------------------------


def test_of_both_generations_of_the_log_the_first_is_used(sigstore: LocalSigstore, tmp_path: Path) -> None:
    def offer_both(document: Json) -> None:
        logs = document["signingConfig"]["rekorTlogUrls"]
        logs.append({**logs[0], "majorApiVersion": 2})

    bench = Bench(
        sigstore,
        trust := trust_in(change(sigstore.trust_config(), offer_both), tmp_path),
        SigstoreVerifier(trust),
    )
    sigstore.faults.clear()
    bench.log_in().sign(DIGEST)

    assert (sigstore.faults.count(Endpoint.ENTRIES_V1), sigstore.faults.count(Endpoint.ENTRIES_V2)) == (1, 0)


def test_where_there_is_only_the_second_it_is_used(tmp_path: Path) -> None:
    with run_sigstore(rekor_version=2) as sigstore:
        open_bench(sigstore, tmp_path).log_in().sign(DIGEST)

        assert sigstore.faults.count(Endpoint.ENTRIES_V2) == 1


@pytest.mark.parametrize("part", ["caUrls", "rekorTlogUrls"])
def test_a_configuration_without_services_verifies_but_does_not_sign(
    bench: Bench, tmp_path: Path, part: str
) -> None:
    bundle = bench.log_in().sign(DIGEST)
    trust = trust_in(change(bench.sigstore.trust_config(), drop("signingConfig", part)), tmp_path)

    assert isinstance(SigstoreVerifier(trust).verify(bundle, DIGEST, [RM]), Signed)
    with pytest.raises(ConfigError, match="expected in signingConfig where to sign"):
        SigstoreSigning(trust, {TOKEN: bench.make_token()}, interactive=False).log_in()


# --- Nothing else is believed ----------------------------------------------------------------------------


def set_home(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(home))


def list_files(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_a_poisoned_cache_is_not_read_and_nothing_is_written(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    set_home(monkeypatch, home)
    # Where the library's own production verifier would find its root, and believe it.
    for place in tuf._get_dirs(PRODUCTION):  # pyright: ignore[reportPrivateUsage] - its own answer is the point
        assert place.is_relative_to(home)
        place.mkdir(parents=True, exist_ok=True)
        (place / "trusted_root.json").write_text(json.dumps(bench.sigstore.trust_config()["trustedRoot"]))
    before = list_files(home)
    pinned = SigstoreVerifier(load_trust(None))
    signer = bench.log_in()

    bundle = signer.sign(DIGEST)
    found = pinned.verify(bundle, DIGEST, [RM])
    twin = bench.verifier.open_statement(signer.sign_statement(a_statement()), [RM])

    assert not isinstance(found, Signed)
    assert isinstance(twin, Statement)
    assert list_files(home) == before
    deceived = Verifier.production(offline=True)
    deceived.verify_artifact(b"an artifact", Bundle.from_json(bundle), policy.Identity(identity=RM.name))


def test_a_home_that_is_none_does_no_harm(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.write_text("a file, below which nothing can be read or made", encoding="utf-8")
    set_home(monkeypatch, home)

    load_trust(None)
    assert isinstance(bench.verifier.verify(bench.log_in().sign(DIGEST), DIGEST, [RM]), Signed)


# --- No way around ---------------------------------------------------------------------------------------


def find_loopholes(source: str) -> set[int]:
    """List the lines that let signatures pass by less than identity and issuer, or believe the cache."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case (
                ast.ImportFrom(module="sigstore.verify.policy")
                | ast.Attribute(attr="UnsafeNoOp" | "TrustUpdater" | "from_tuf")
                | ast.alias(name="UnsafeNoOp" | "TrustUpdater")
                | ast.Attribute(
                    value=ast.Name(id="Verifier" | "ClientTrustConfig"), attr="production" | "staging"
                )
            ):
                lines.add(node.lineno)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="policy"), attr="Identity"), keywords=keywords
            ):
                if {keyword.arg for keyword in keywords} != {"identity", "issuer"}:
                    lines.add(node.lineno)
            case _:
                pass
    return lines


def test_no_module_accepts_signatures_by_less_than_identity_and_issuer() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}

    assert any("policy.Identity(" in source for source in sources.values())
    assert {path.name: lines for path, source in sources.items() if (lines := find_loopholes(source))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "policy.UnsafeNoOp()",
        "from sigstore.verify.policy import Identity",
        "from sigstore.verify.policy import UnsafeNoOp as Fine",
        "policy.Identity(identity=name)",
        "policy.Identity(identity=name, **more)",
        "Verifier.production(offline=True)",
        "ClientTrustConfig.from_tuf(url)",
    ],
)
def test_a_planted_loophole_is_found(source: str) -> None:
    assert find_loopholes(source) == {1}
    assert find_loopholes("policy.Identity(identity=name, issuer=issuer)") == set()
