"""GET requests to a Hub: redirects, retries, patience, bounds, and where the token may go. Knows no repository.

The connection is that of huggingface_hub (requests up to 0.36, httpx2 from 2.0), so proxies and certificates are as for
its other clients. Its downloader is not used: see ``hub``.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

_CHUNK = 1 << 16
_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PASSING = frozenset({408, 425, 500, 502, 503, 504})


class Limits(NamedTuple):
    """How long to wait for what, in seconds.

    ``connect`` and ``silence`` bound one request: until there is a connection, and between two pieces of an answer.
    ``first_answer`` bounds a run that has had no answer yet. ``pauses`` come between the attempts after a failure that
    may pass. ``longest_wait`` is how long a Hub may make us wait in all before the same question is asked again.
    ``answer`` bounds an answer as a whole, which may take longer by its size at ``bytes_per_second``.
    """

    connect: float = 5.0
    silence: float = 10.0
    first_answer: float = 7.0
    pauses: tuple[float, ...] = (0.3, 0.7, 1.5, 3.0)
    longest_wait: float = 30.0
    answer: float = 60.0
    bytes_per_second: int = 50_000


MANY = Limits(longest_wait=310.0)
"""For a run over many models: a Hub counts requests over five minutes."""

_TIRED_AFTER = 4
_SILENCE = "no answer in time"


class Broken(Exception):
    """No usable answer arrived; the message says why in a few words and never holds an address or a header.

    ``slow`` says that it was waited for: that is tried once more, not four times.
    """

    def __init__(self, message: str, *, slow: bool = False) -> None:
        super().__init__(message)
        self.slow = slow


class Refused(Exception):
    """The Hub answered, and it was no: the status, the headers in lower case, and where a last redirect led."""

    def __init__(self, status: int, headers: Mapping[str, str], location: str | None = None) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.headers = dict(headers)
        self.location = location


class Answer(NamedTuple):
    """The headers (in lower case) of every step of an answer, later ones first to count, and its length in bytes."""

    headers: Mapping[str, str]
    length: int


Sink = Callable[[bytes], object]


class Line:
    """The line to one endpoint, shared by all threads of a run: whether it is dead, and until when to hold."""

    def __init__(self, endpoint: str, limits: Limits) -> None:
        self.endpoint = endpoint
        self.limits = limits
        self._lock = threading.Lock()
        self._answered = False
        self._dead: str | None = None
        self._failures = 0
        self._hold_until = 0.0
        self._began = time.monotonic()

    def get(self, url: str, open_sink: Callable[[], Sink], *, most: int) -> Answer:
        """GET ``url`` and give the body to a sink, a new one for each attempt; at most ``most`` bytes.

        Raises Broken where no whole answer arrives, Refused for a status that is not 200.
        """
        waited, attempt = 0.0, 0
        while True:
            self._check()
            waited += self._hold(self.limits.longest_wait - waited)
            try:
                answer = self._attempt(url, open_sink(), most)
            except Broken as error:
                last = error.slow and attempt > 0
                pause = self._after_failure(attempt, str(error), connected=False, last=last)
                if pause is None:
                    raise
            except Refused as error:
                self._heard()
                asked = retry_after(error.headers) if error.status in (429, 503) else None
                if error.status == 429 or (error.status in _PASSING and asked is not None):
                    pause = self.limits.pauses[0] if asked is None else asked
                    if waited + pause > self.limits.longest_wait or attempt > 2 * len(self.limits.pauses):
                        raise
                    with self._lock:
                        self._hold_until = max(self._hold_until, time.monotonic() + pause)
                    pause = 0.0
                elif error.status in _PASSING:
                    again = self._after_failure(attempt, str(error), connected=True)
                    if again is None:
                        raise
                    pause = again
                else:
                    raise
            else:
                self._heard()
                with self._lock:
                    self._failures = 0
                return answer
            time.sleep(pause)
            attempt += 1

    def give_up(self, reason: str) -> None:
        """Let every request that has not begun fail with ``reason``."""
        self._dead = reason

    def _check(self) -> None:
        if self._dead is not None:
            raise Broken(self._dead)

    def _heard(self) -> None:
        with self._lock:
            self._answered = True

    def _hold(self, most: float) -> float:
        """Wait as long as the Hub asked any thread to; the seconds waited."""
        waited = 0.0
        while (left := self._hold_until - time.monotonic()) > 0 and waited < most:
            nap = min(left, most - waited)
            time.sleep(nap)
            waited += nap
        return waited

    def _after_failure(self, attempt: int, reason: str, *, connected: bool, last: bool = False) -> float | None:
        """The pause before the next attempt, None where this was the last one."""
        with self._lock:
            unheard = not self._answered and not connected
            pauses = self.limits.pauses
            if not last and attempt < len(pauses) - unheard and self._failures < _TIRED_AFTER:
                used = time.monotonic() - self._began
                if not unheard or used + pauses[attempt] < self.limits.first_answer:
                    return pauses[attempt]
            self._failures += 1
            # A Hub that never answered, or that four models in a row could not reach, is not asked for the others.
            if unheard or (not connected and self._failures >= _TIRED_AFTER):
                self._dead = reason
            return None

    def _attempt(self, url: str, sink: Sink, most: int) -> Answer:
        began = time.monotonic()
        gathered: dict[str, str] = {}
        location = None
        for _ in range(_MOST_REDIRECTS):
            with _exchange(url, self._headers(url), self._timeout()) as (status, headers, chunks):
                # What the Hub says of a file counts for more than what the storage behind a redirect says.
                gathered = {**headers, **gathered}
                if status in _REDIRECTS and "location" in headers:
                    location = urljoin(url, headers["location"])
                    self._allow(url, location)
                    url = location
                    continue
                if status != 200:
                    raise Refused(status, headers, location)
                length = self._read(chunks, headers, sink, most, began)
                return Answer(gathered, length)
        raise Broken("it redirects in a circle")

    def _read(self, chunks: Iterator[bytes], headers: Mapping[str, str], sink: Sink, most: int, began: float) -> int:
        announced = headers.get("content-length", "")
        size = int(announced) if announced.isdecimal() and len(announced) < 16 else None
        deadline = began + self.limits.answer + min(size or 0, most) / self.limits.bytes_per_second
        length = 0
        for chunk in chunks:
            length += len(chunk)
            if length > most:
                raise Broken(f"the answer is longer than {most:,} bytes")
            if time.monotonic() > deadline:
                raise Broken("the answer is too slow", slow=True)
            sink(chunk)
        if size is not None and length != size:
            raise Broken(f"the answer ended after {length:,} of {size:,} bytes")
        return length

    def _timeout(self) -> tuple[float, float]:
        if self._answered:
            return self.limits.connect, self.limits.silence
        left = max(0.1, self.limits.first_answer - (time.monotonic() - self._began))
        return min(self.limits.connect, left), min(self.limits.connect, left)

    def _headers(self, url: str) -> dict[str, str]:
        from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

        from template_lint.version import __version__

        headers = dict(build_hf_headers(library_name="template-lint", library_version=__version__))
        # Compressed answers could be larger than announced without end.
        headers["Accept-Encoding"] = "identity"
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise Broken("HF_TOKEN holds characters that no token has")
        if not _same_origin(url, self.endpoint):
            headers = {name: value for name, value in headers.items() if name.lower() != "authorization"}
        return headers

    def _allow(self, old: str, new: str) -> None:
        parts = urlsplit(new)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise Broken("it redirects to what is no web address")
        if urlsplit(old).scheme == "https" and parts.scheme == "http":
            raise Broken("it redirects from https to http")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the Hub asks to wait: Retry-After as seconds or as a date, or the reset of its RateLimit header."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}", value):
        return float(value)
    if value:
        from email.utils import parsedate_to_datetime

        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
        except (ValueError, OverflowError):
            return None
    reset = re.search(r"(?:^|;)\s*t=(\d{1,9})\b", headers.get("ratelimit", ""))
    return float(reset[1]) if reset else None


def _same_origin(url: str, endpoint: str) -> bool:
    def origin(text: str) -> tuple[str, str | None, int | None]:
        parts = urlsplit(text)
        return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)

    return origin(url) == origin(endpoint)


@contextmanager
def _exchange(
    url: str, headers: Mapping[str, str], timeout: tuple[float, float]
) -> Iterator[tuple[int, dict[str, str], Iterator[bytes]]]:
    """One GET without redirects: status, headers in lower case, body. Whatever the libraries raise becomes Broken."""
    from huggingface_hub import get_session

    session: Any = get_session()
    with _broken():
        if hasattr(session, "build_request"):  # httpx2
            connect, silence = timeout
            bounds = (connect, silence, silence, silence)
            request = session.build_request("GET", url, headers=headers, timeout=bounds)
            response = session.send(request, stream=True, follow_redirects=False)
        else:  # requests
            response = session.get(url, headers=headers, timeout=timeout, stream=True, allow_redirects=False)
    try:
        read = response.iter_bytes if hasattr(response, "iter_bytes") else response.iter_content
        named = {str(name).lower(): str(value) for name, value in response.headers.items()}
        yield response.status_code, named, _guarded(read(_CHUNK))
    finally:
        with _broken():
            response.close()


def _guarded(chunks: Iterator[bytes]) -> Iterator[bytes]:
    while True:
        with _broken():
            chunk = next(chunks, None)
        if chunk is None:
            return
        yield chunk


@contextmanager
def _broken() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # Without the cause: messages of the libraries may quote headers and signed addresses.
        reason = _innermost(error)
        raise Broken(reason, slow=reason == _SILENCE) from None


def _innermost(error: BaseException) -> str:
    """The innermost cause in a few words. Never a whole message: those can carry signed addresses."""
    timed_out = "timeout" in type(error).__name__.lower()
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
        timed_out = timed_out or "timeout" in type(error).__name__.lower()
    if timed_out or isinstance(error, TimeoutError):
        return _SILENCE
    if type(error).__name__ in ("IncompleteRead", "RemoteProtocolError", "ProtocolError", "RemoteDisconnected"):
        return "the connection ended before the answer did"
    return (isinstance(error, OSError) and error.strerror) or type(error).__name__
