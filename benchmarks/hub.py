"""How many requests and how much time a Hub takes: 1,000 models on the loopback address, cold, warm and by commit.

    python benchmarks/hub.py [--models 1000] [--library 50]   times and requests, beside huggingface_hub's downloader
    python benchmarks/hub.py --faults                         everything a Hub can do wrong, with what is printed

The server runs in this process and shares its processor; only ratios mean something.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.hubserver import HubServer
from tests.lock.faults import CASES, REPO, prepare
from tests.lock.toys import model


class _Patch:
    """The part of pytest's monkeypatch that ``HubServer.lead_here`` needs."""

    def setattr(self, target: object, name: str, value: object, raising: bool = True) -> None:
        setattr(target, name, value)

    def delenv(self, name: str, raising: bool = True) -> None:
        os.environ.pop(name, None)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--library", type=int, default=50, help="how many models huggingface_hub fetches")
    parser.add_argument("--faults", action="store_true")
    options = parser.parse_args()
    if options.faults:
        faults()
    else:
        requests(options.models, options.library)


def requests(count: int, library: int) -> None:
    """Fetch ``count`` models cold, warm, by commit and offline; and ``library`` of them with hf_hub_download."""
    from template_lint.snapshot.hub import Fetched, fetch_all

    with HubServer() as hub, tempfile.TemporaryDirectory() as folder:
        hub.lead_here(_Patch(), Path(folder))
        names = [f"org/model-{number:04d}" for number in range(count)]
        files = model(words=tuple(f"word{number}" for number in range(500)))
        for number, name in enumerate(names):
            hub.add(name, {**files, "README.md": f"# {number}"}, large=["tokenizer.json"])
        print(f"{count} models of 4 prompt-shaping files, {len(files['tokenizer.json']):,} bytes of tokenizer.json")
        print("run                      seconds  requests  per model   seconds each")
        commits: list[tuple[str, str | None]] = []
        for run in ("cold", "warm", "by commit", "offline"):
            wanted = commits if run == "by commit" else [(name, None) for name in names]
            hub.clear()
            started = time.perf_counter()
            results = fetch_all(wanted, offline=run == "offline")
            seconds = time.perf_counter() - started
            found = [result for result in results if isinstance(result, Fetched)]
            assert len(found) == count, [result for result in results if not isinstance(result, Fetched)][:1]
            commits = [(name, result.commit) for name, result in zip(names, found, strict=True)]
            _row(run, seconds, len(hub.requests) - _storage(hub), count)
        hub.clear()
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as cache:
            _with_the_library(names[:library], cache, hub.url)
        _row(f"huggingface_hub, {library}", time.perf_counter() - started, len(hub.requests) - _storage(hub), library)


def _with_the_library(names: list[str], cache: str, endpoint: str) -> None:
    from huggingface_hub import HfApi, hf_hub_download

    from template_lint.snapshot.hub_cache import shapes_prompt

    for name in names:
        info = HfApi(endpoint=endpoint).model_info(name)
        for sibling in info.siblings or []:
            if shapes_prompt(sibling.rfilename):
                hf_hub_download(name, sibling.rfilename, revision=info.sha, cache_dir=cache, endpoint=endpoint)


def _storage(hub: HubServer) -> int:
    """Requests that a redirect led to: the second half of asking for a large file."""
    return sum(path.startswith("/storage/") for _, path in hub.requests)


def _row(name: str, seconds: float, requests: int, count: int) -> None:
    print(f"{name:24} {seconds:7.2f}  {requests:8d}  {requests / count:9.2f}   {seconds / count:12.4f}")


def faults() -> None:
    """Run ``template-lint lock`` against every fault and print exit code, time and line."""
    green = 0
    print("| fault | exit | s | printed |\n| --- | --- | --- | --- |")
    for case in CASES:
        code, seconds, line, url = _run(case.name, 1)
        green += code == 0 and case.code != 0
        print(f"| {case.name} | {code} | {seconds:.1f} | {line.replace(url, 'HUB')} |")
    code, seconds, line, url = _run("dead endpoint", 50)
    print(f"| dead endpoint, 50 models | {code} | {seconds:.1f} | {line.replace(url, 'HUB')} |")
    print(f"\n{len(CASES)} faults, false greens: {green}")


def _run(name: str, count: int) -> tuple[int, float, str, str]:
    case = next(case for case in CASES if case.name == name)
    with HubServer() as hub, tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ):
        prepare(hub, case)
        models = [REPO] if count == 1 else [f"org/m{number}" for number in range(count)]
        environment = {**os.environ, **hub.environment(folder), "HF_TOKEN": "hf_notARealToken", "COLUMNS": "1000"}
        environment["PYTHONPATH"] = str(Path(__file__).resolve().parent.parent)
        command = [sys.executable, "-c", "from template_lint.cli import main; main()", "lock", *models]
        started = time.perf_counter()
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - started
    assert "hf_notARealToken" not in done.stdout + done.stderr
    words = " ".join(done.stdout.split())
    line = words.partition("NOT CHECKED ")[2] or words.partition(" new ")[2] or done.stderr.strip()
    return done.returncode, seconds, line.partition(" NOT CHECKED ")[0], hub.url


if __name__ == "__main__":
    main()
