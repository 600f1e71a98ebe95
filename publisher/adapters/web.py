"""The public site over HTTP, as anybody sees it: no credentials, no redirects followed."""

import hashlib

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError
from urllib3.util import Retry

from publisher.adapters.http import stay_anonymous
from publisher.core.digests import Digest
from publisher.errors import EdgeError
from publisher.ports import Seen

MAX_SMALL_BYTES = 16 * 1024**2
"""The most that is read into memory at once."""

_CHUNK = 1024**2
_ABSENT = frozenset({403, 404, 410})
_SECONDS = (10.0, 60.0)
"""How long to wait for a connection, and for each next byte of an answer."""


class Web:
    """One session with as many connections as threads."""

    def __init__(
        self, connections: int, user_agent: str, *, timeouts: tuple[float, float] = _SECONDS
    ) -> None:
        self._timeouts = timeouts
        self._session = requests.Session()
        # Without this, a .netrc file on this machine would be obeyed.
        self._session.auth = stay_anonymous
        # Asked for as it is stored: a size after compression would be another one.
        self._session.headers.update({"User-Agent": user_agent, "Accept-Encoding": "identity"})
        # Only where there was no answer: every answer is one, however busy the site says it is.
        retry = Retry(
            total=3,
            backoff_factor=0.2,
            allowed_methods=["HEAD"],
            status=0,
            respect_retry_after_header=False,
        )
        adapter = HTTPAdapter(pool_maxsize=connections, max_retries=retry)
        self._session.mount("https://", adapter)
        self._session.mount("http://", adapter)

    def head(self, url: str) -> Seen:
        """Ask for a URL's headers."""
        try:
            answer = self._session.head(url, timeout=self._timeouts, allow_redirects=False)
        except requests.RequestException as error:
            raise EdgeError(f"no answer from {url}: {error}") from error
        length = answer.headers.get("Content-Length", "")
        return Seen(answer.status_code, int(length) if length.isdigit() else None, answer.headers.get("ETag"))

    def read(self, url: str) -> bytes | None:
        """Download a small file whole; None where there is none."""
        try:
            with self._session.get(url, timeout=self._timeouts, allow_redirects=False, stream=True) as answer:
                if answer.status_code in _ABSENT:
                    return None
                if answer.status_code != requests.codes.ok:
                    raise EdgeError(f"{url} answered {answer.status_code}")
                data = bytearray()
                # To the end: a single read does not notice that an answer was cut short.
                for chunk in answer.raw.stream(_CHUNK, decode_content=False):
                    data += chunk
                    if len(data) > MAX_SMALL_BYTES:
                        break
        except (requests.RequestException, HTTPError) as error:
            raise EdgeError(f"{url} broke off: {error}") from error
        if len(data) > MAX_SMALL_BYTES:
            raise EdgeError(f"{url} has more than {MAX_SMALL_BYTES:,} bytes, a small file was expected")
        return bytes(data)

    def compute_digest(self, url: str) -> Digest:
        """Download a URL and compute the digest of what it serves."""
        digest = hashlib.sha256()
        try:
            with self._session.get(url, timeout=self._timeouts, allow_redirects=False, stream=True) as answer:
                if answer.status_code != requests.codes.ok:
                    raise EdgeError(f"{url} answered {answer.status_code}")
                for chunk in answer.iter_content(_CHUNK):
                    digest.update(chunk)
        except requests.RequestException as error:
            raise EdgeError(f"{url} broke off: {error}") from error
        return Digest(digest.hexdigest())
