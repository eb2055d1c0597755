"""A Hub on the loopback address: the routes and headers that huggingface_hub relies on, and faults on demand.

with HubServer() as hub:
    commit = hub.add("org/name", {"chat_template.jinja": "..."})
    hub.fault("*/resolve/*", GATED)
    ... HF_ENDPOINT=hub.url ...
    assert hub.requests == [("GET", "/api/models/org/name/revision/main"), ...]
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from unittest import mock
from urllib.parse import unquote, urlsplit


@dataclass(kw_only=True)
class Fault:
    """What to do instead of, or to, the right answer.

    ``status`` replaces it. ``delay`` (seconds) comes before it. ``body`` replaces the content but not the headers that
    describe it. ``cut`` closes the connection after so many bytes of the body, ``drip`` sends it byte by byte with so
    many seconds between them. ``times`` is how often; None is always.
    """

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    body: bytes | None = None
    cut: int | None = None
    times: int | None = None
    drip: float = 0.0


UNAUTHORIZED = Fault(status=401, headers={"X-Error-Message": "Invalid credentials in Authorization header"})
GATED = Fault(status=403, headers={"X-Error-Code": "GatedRepo"})
NO_REPOSITORY = Fault(status=404, headers={"X-Error-Code": "RepoNotFound"})
NO_REVISION = Fault(status=404, headers={"X-Error-Code": "RevisionNotFound"})
NO_ENTRY = Fault(status=404, headers={"X-Error-Code": "EntryNotFound"})
RATE_LIMITED = Fault(status=429, headers={"Retry-After": "7"})
SERVER_ERROR = Fault(status=500)


@dataclass(frozen=True, kw_only=True)
class _Commit:
    sha: str
    files: Mapping[str, bytes]
    large: Collection[str]


class HubServer:
    """The server. ``url`` is its address; ``requests`` are (method, path) in order, without the agent registry."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self.tokens: list[str | None] = []
        self.hosts: list[str] = []
        self.connections: set[socket.socket] = set()
        self.repositories: dict[str, dict[str, _Commit]] = {}
        self.extra_siblings: list[str] = []
        self.renamed: dict[str, str] = {}
        self.tells_digests = True
        self.stopped = threading.Event()
        self._faults: list[tuple[str, Fault]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.hub = self  # type: ignore[attr-defined]
        port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{port}"
        # Another name for the same address: to a client the storage of large files is a foreign host.
        self.storage_url = f"http://localhost:{port}"
        self._environment = mock.patch.dict("os.environ", {"NO_PROXY": "*", "no_proxy": "*"})
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._environment.start()
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()
        self._environment.stop()

    def stop(self) -> None:
        """Close the port and every connection; later requests are refused. May be called twice."""
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def add(
        self, repo: str, files: Mapping[str, str | bytes], *, revision: str = "main", large: Collection[str] = ()
    ) -> str:
        """Commit ``files`` to a branch or tag of ``repo`` and return the commit. Files in ``large`` are redirected."""
        content = {name: data.encode() if isinstance(data, str) else data for name, data in files.items()}
        digest = hashlib.sha1(repo.encode())
        for name in sorted(content):
            digest.update(name.encode() + b"\0" + content[name] + b"\0")
        commit = _Commit(sha=digest.hexdigest(), files=content, large=frozenset(large))
        self.repositories.setdefault(repo, {}).update({revision: commit, commit.sha: commit})
        return commit.sha

    def fault(self, path: str, fault: Fault) -> None:
        """Apply ``fault`` to requests whose ``METHOD /path`` matches the shell pattern ``path``."""
        self._faults.append((path, fault))

    def clear(self) -> None:
        """Forget the requests and the faults so far."""
        self.requests.clear()
        self.tokens.clear()
        self.hosts.clear()
        self._faults.clear()

    def environment(self, home: object) -> dict[str, str]:
        """Return the variables that lead a client in another process here, with ``home`` as its HF_HOME."""
        return {"HF_ENDPOINT": self.url, "HF_HOME": str(home), "NO_PROXY": "*", "no_proxy": "*"}

    def lead_here(self, monkeypatch: Any, home: Any) -> None:
        """Make this process a client of the server, without a token, with its cache below the folder ``home``."""
        from huggingface_hub import constants, file_download

        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_ETAG_TIMEOUT"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(constants, "ENDPOINT", self.url)
        template = self.url + "/{repo_id}/resolve/{revision}/{filename}"
        for module in (constants, file_download):
            monkeypatch.setattr(module, "HUGGINGFACE_CO_URL_TEMPLATE", template, raising=False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", os.fspath(home / "hub"))
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", os.fspath(home / "token"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "AGENT_HARNESSES_PATH", os.fspath(home / "agents.json"), raising=False)

    def _next_fault(self, request: str) -> Fault | None:
        for pattern, fault in self._faults:
            if fnmatchcase(request, pattern) and fault.times != 0:
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None


@dataclass(frozen=True, kw_only=True)
class _Answer:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.server.hub.connections.add(self.connection)  # type: ignore[attr-defined]

    def finish(self) -> None:
        self.server.hub.connections.discard(self.connection)  # type: ignore[attr-defined]
        super().finish()

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _serve(self) -> None:
        hub: HubServer = self.server.hub  # type: ignore[attr-defined]
        path = urlsplit(self.path).path
        if path == "/api/agent-harnesses":
            self._send(_Answer(status=404), None)
            return
        hub.requests.append((self.command, path))
        hub.tokens.append(self.headers.get("Authorization"))
        hub.hosts.append(self.headers.get("Host", ""))
        fault = hub._next_fault(f"{self.command} {path}")
        if fault is not None:
            hub.stopped.wait(fault.delay)
            if fault.status is not None:
                self._send(_Answer(status=fault.status, headers=fault.headers), None)
                return
        blobs = hub.tells_digests and "blobs=true" in urlsplit(self.path).query.lower()
        self._send(self._answer(hub, path, blobs), fault)

    def _send(self, answer: _Answer, fault: Fault | None) -> None:
        body = answer.body if fault is None or fault.body is None else fault.body
        with suppress(ConnectionError):  # the client gave up: a test of its timeout
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(body)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
        if self.command == "HEAD":
            return
        if fault is not None and fault.cut is not None:
            body = body[: fault.cut]
            self.close_connection = True
        with suppress(ConnectionError):
            if fault is not None and fault.drip:
                hub: HubServer = self.server.hub  # type: ignore[attr-defined]
                for byte in body:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    if hub.stopped.wait(fault.drip):
                        break
            else:
                self.wfile.write(body)

    def _answer(self, hub: HubServer, path: str, blobs: bool) -> _Answer:
        parts = [unquote(part) for part in path.strip("/").split("/")]
        if parts[0] == "storage":
            return self._stored(hub, parts[1])
        is_api = parts[:2] == ["api", "models"]
        if is_api:
            parts = parts[2:]
        for old, new in hub.renamed.items():
            if "/".join(parts).startswith(f"{old}/"):
                return _Answer(status=307, headers={"Location": self.path.replace(old, new, 1)})
        for length in (2, 1):
            repo, rest = "/".join(parts[:length]), parts[length:]
            if repo in hub.repositories:
                break
        else:
            return _missing("RepoNotFound")
        what, revision, *inner = rest if len(rest) >= 2 else ["revision", "main"]
        commit = hub.repositories[repo].get(revision)
        if commit is None:
            return _missing("RevisionNotFound")
        if not is_api:
            return _file(hub, commit, "/".join(inner))
        return _tree(commit, "/".join(inner)) if what == "tree" else _info(hub, repo, commit, blobs)

    def _stored(self, hub: HubServer, sha256: str) -> _Answer:
        commits = (commit for revisions in hub.repositories.values() for commit in revisions.values())
        for data in (data for commit in commits for data in commit.files.values()):
            if hashlib.sha256(data).hexdigest() == sha256:
                return _Answer(body=data)
        return _missing("EntryNotFound")


def _missing(code: str, commit: str | None = None) -> _Answer:
    return _Answer(status=404, headers={"X-Error-Code": code, **({"X-Repo-Commit": commit} if commit else {})})


def _json(value: object) -> _Answer:
    return _Answer(body=json.dumps(value).encode(), headers={"Content-Type": "application/json"})


def _info(hub: HubServer, repo: str, commit: _Commit, blobs: bool) -> _Answer:
    siblings: list[dict[str, Any]] = [{"rfilename": name} for name in [*sorted(commit.files), *hub.extra_siblings]]
    for sibling in siblings if blobs else ():
        data = commit.files.get(sibling["rfilename"])
        if data is not None:
            sibling |= {"size": len(data), "blobId": _blob_id(data)}
            if sibling["rfilename"] in commit.large:
                sibling["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
    return _json({"id": repo, "modelId": repo, "sha": commit.sha, "siblings": siblings, "tags": []})


def _tree(commit: _Commit, folder: str) -> _Answer:
    below = {name: data for name, data in commit.files.items() if not folder or name.startswith(folder + "/")}
    if not below:
        return _missing("EntryNotFound", commit.sha)
    files = below.items()
    return _json([{"type": "file", "oid": _blob_id(data), "size": len(data), "path": name} for name, data in files])


def _file(hub: HubServer, commit: _Commit, name: str) -> _Answer:
    data = commit.files.get(name)
    if data is None:
        return _missing("EntryNotFound", commit.sha)
    headers = {"X-Repo-Commit": commit.sha, "Content-Type": "application/octet-stream"}
    if name not in commit.large:
        return _Answer(body=data, headers={**headers, "ETag": f'"{_blob_id(data)}"'})
    sha256 = hashlib.sha256(data).hexdigest()
    linked = {"X-Linked-Etag": f'"{sha256}"', "X-Linked-Size": str(len(data))}
    return _Answer(status=302, headers={**headers, **linked, "Location": f"{hub.storage_url}/storage/{sha256}"})


def _blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
