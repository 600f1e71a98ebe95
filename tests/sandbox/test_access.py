"""What each role may and may not do, tried with its real session; refusals stand beside what is allowed."""

import re
from collections.abc import Mapping

import pytest

from sandbox.site import AUDITOR, RM
from tests.sandbox.hands import Hands, split

SEEDS = (
    "staging:windows/1.0/a",
    "staging:macos/1.0/a",
    "staging:_hold/windows/1.0",
    "staging:_hold/qa/1.0",
    "staging:_rm/1.0/a",
    "staging:_state/lease.json",
    "public:python/1.0/a",
    "public:_pending/p/a",
)
GATE_KEY = "p:python/1.0/a"
DENIED = {"AccessDenied", "AccessDeniedException"}

WINDOWS = """
may  put               staging:windows/1.0/b
may  create            staging:windows/1.0/c
may  upload in parts   staging:windows/1.0/b
may  get               staging:windows/1.0/a
may  list              staging:windows/
may  copy              staging:windows/1.0/a -> staging:windows/1.0/d
may  put               staging:_hold/windows/1.1
not  put               staging:macos/1.0/a
not  put               staging:windows-too/1.0/a
not  put               staging:_rm/1.0/a
not  put               staging:_state/lease.json
not  put               staging:_hold/macos/1.0
not  put               staging:_hold/windows
not  put               staging:a
not  upload in parts   staging:macos/1.0/b
not  get               staging:macos/1.0/a
not  get               staging:_rm/1.0/a
not  get               staging:_state/lease.json
not  get               staging:_hold/windows/1.0
not  list              staging:
not  list              staging:win
not  list              staging:macos/
not  list              staging:_state/
not  list versions     staging:windows/
not  copy              staging:macos/1.0/a -> staging:windows/1.0/d
not  copy              staging:windows/1.0/a -> staging:macos/1.0/d
not  copy              staging:windows/1.0/a -> public:python/1.0/d
may  delete            staging:windows/1.0/b
not  delete            staging:macos/1.0/a
not  delete            staging:_hold/windows/1.0
not  delete version    staging:_hold/windows/1.0
not  delete version    staging:windows/1.0/a
not  get               public:python/1.0/a
not  get               public:_pending/p/a
not  list              public:
not  put               public:python/1.0/b
not  put               public:_pending/p/b
not  delete            public:python/1.0/a
not  read gate         p:python/1.0/a
not  get gate key      p:python/1.0/a
not  write gate        p:python/1.0/a
not  invalidate        /python/1.0/a
not  list invalidations  -
not  assume            macos
not  assume            rm
not  assume            windows
not  change policy     staging
not  change role       windows
"""

QA = """
may  get               staging:windows/1.0/a
may  get version       staging:windows/1.0/a
may  list              staging:windows/
may  list              staging:macos/
may  put               staging:_hold/qa/1.1
not  put               staging:windows/1.0/a
not  put               staging:qa/1.0/a
not  put               staging:_hold/windows/1.0
not  put               staging:_rm/1.0/a
not  put               staging:_state/lease.json
not  get               staging:_rm/1.0/a
not  get               staging:_state/lease.json
not  list              staging:
not  list              staging:_state/
not  delete            staging:windows/1.0/a
not  delete            staging:_hold/qa/1.0
not  delete version    staging:_hold/qa/1.0
not  get               public:_pending/p/a
not  put               public:python/1.0/b
not  copy              staging:windows/1.0/a -> public:python/1.0/d
not  read gate         p:python/1.0/a
not  get gate key      p:python/1.0/a
not  write gate        p:python/1.0/a
not  invalidate        /python/1.0/a
not  assume            windows
"""

RELEASE_MANAGER = """
may  get               staging:windows/1.0/a
may  get version       staging:windows/1.0/a
may  get               staging:_hold/windows/1.0
may  list              staging:
may  list versions     staging:
may  put               staging:_rm/1.0/b
may  put               staging:_state/lease.json
may  create            staging:_state/promotions/p/plan.json
may  put               public:_pending/p/b
may  create            public:python/1.0/b
may  upload in parts   public:python/1.0/b
may  copy              staging:windows/1.0/a -> public:_pending/p/c
may  copy              public:_pending/p/a -> public:python/1.0/c
may  get               public:python/1.0/a
may  list              public:
may  read gate         p:python/1.0/a
may  get gate key      p:python/1.0/a
may  write gate        p:python/1.0/b
may  invalidate        /python/1.0/a
not  put               staging:windows/1.0/a
not  put               staging:qa/1.0/a
not  put               staging:_hold/windows/1.0
not  put               staging:a
not  copy              staging:windows/1.0/a -> staging:macos/1.0/d
not  put               public:_site/404.html
not  delete            staging:windows/1.0/a
not  delete            staging:_rm/1.0/a
not  delete            staging:_state/lease.json
not  delete            staging:_hold/windows/1.0
not  delete            public:python/1.0/a
not  delete            public:_pending/p/a
not  delete version    public:python/1.0/a
not  delete version    staging:windows/1.0/a
not  assume            windows
not  assume            qa
not  change policy     public
not  change role       windows
"""

AUDITORS = """
may  get               staging:windows/1.0/a
may  get version       staging:_state/lease.json
may  get               staging:_hold/windows/1.0
may  get version       public:_pending/p/a
may  list versions     staging:
may  list versions     public:
may  read gate         p:python/1.0/a
may  get gate key      p:python/1.0/a
may  list invalidations  -
not  put               staging:windows/1.0/a
not  put               staging:auditor/1.0/a
not  put               staging:_hold/auditor/1.0
not  put               staging:_rm/1.0/a
not  put               staging:_state/lease.json
not  put               public:python/1.0/b
not  put               public:_pending/p/b
not  copy              staging:windows/1.0/a -> public:_pending/p/c
not  delete            staging:windows/1.0/a
not  delete version    public:python/1.0/a
not  write gate        p:python/1.0/a
not  invalidate        /python/1.0/a
not  assume            rm
not  change policy     public
"""


def rows(role: str, table: str) -> list[tuple[str, ...]]:
    return [(role, *re.split(r" {2,}", line)) for line in table.strip().splitlines()]


TABLE = [*rows("windows", WINDOWS), *rows("qa", QA), *rows(RM, RELEASE_MANAGER), *rows(AUDITOR, AUDITORS)]


@pytest.fixture(scope="module", autouse=True)
def seeds(root: Hands) -> None:
    for place in SEEDS:
        bucket, key = split(place)
        root.s3.put_object(Bucket=bucket, Key=key, Body=b"seed")
    root.write_gate(GATE_KEY)


@pytest.mark.parametrize(("role", "may", "what", "where"), TABLE)
def test_a_role_may_do_its_part_and_no_more(
    hands: Mapping[str, Hands], role: str, may: str, what: str, where: str
) -> None:
    outcome = hands[role].attempt(what, where)
    if may == "may":
        assert outcome == "done"
    else:
        assert outcome in DENIED


def test_what_was_refused_was_not_done(root: Hands) -> None:
    root.put("staging:windows/2.0/a")
    bucket, _ = split("staging:")
    kept = root.s3.get_object(Bucket=bucket, Key="macos/1.0/a")["Body"].read()
    assert kept == b"seed"
    assert root.attempt("get", "public:python/1.0/d") == "NoSuchKey"


def test_a_deleted_file_can_be_brought_back(hands: Mapping[str, Hands], root: Hands) -> None:
    hands["windows"].put("staging:windows/3.0/a")
    version = root.find_version("staging:windows/3.0/a")
    hands["windows"].delete("staging:windows/3.0/a")
    assert hands["windows"].attempt("get", "staging:windows/3.0/a") == "NoSuchKey"
    bucket, key = split("staging:windows/3.0/a")
    assert hands[RM].s3.get_object(Bucket=bucket, Key=key, VersionId=version)["Body"].read() == b"x"
