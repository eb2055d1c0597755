"""``template-lint diff`` against a Hub: a real Qwen3 repository at five revisions, read as a person reads it.

The expected reports are in ``expected/``: whole, because the first lines are what somebody acts on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.hubserver import GATED, NO_REPOSITORY, NO_REVISION, HubServer
from tests.lock import qwen
from tests.report.samples import expect

LARGE = ("tokenizer.json",)
CHANGES: dict[str, tuple[Callable[[Mapping[str, str]], Mapping[str, str]], int, int | None, str]] = {
    "readme": (qwen.with_readme, 0, 0, "TL601"),
    "line": (qwen.with_other_line, 1, 2, "TL603"),
    "tokenizer": (qwen.without_call_tokens, 1, 2, "TL603"),
    "prefix": (qwen.with_late_end, 1, 3, "TL604"),
}


def without_findings(text: str) -> str:
    """The report less the findings of other rules, which come and go with those rules."""
    return re.sub(r"^  findings: .*\n(?: {4}.*\n)*", "", text, flags=re.MULTILINE)


class Project:
    """A folder with a lock, the Hub it was made from, and the cache of the Hub's client."""

    def __init__(self, folder: Path, hub: HubServer) -> None:
        self.folder, self.hub, self.home = folder, hub, folder / "home"
        self.files = qwen.files()
        self.commit = hub.add(qwen.REPO, self.files, large=LARGE)
        self.lock = folder / "template-lint.lock"
        qwen.write_lock(self.lock, hub, self.home)

    def push(self, files: Mapping[str, str]) -> str:
        self.hub.clear()
        return self.hub.add(qwen.REPO, files, large=LARGE)

    def diff(self, *words: str) -> qwen.Run:
        return qwen.run("diff", *words, hub=self.hub, home=self.home, cwd=self.folder)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with HubServer() as hub:
        yield Project(tmp_path_factory.mktemp("project"), hub)


@pytest.mark.parametrize("name", CHANGES)
def test_grade_exit_code_and_report_of_a_change(name: str, project: Project) -> None:
    change, code, grade, rule = CHANGES[name]
    project.push(change(project.files))
    done = project.diff(qwen.REPO, "--output", "text", "--output", "json=report.json")
    report = json.loads((project.folder / "report.json").read_text(encoding="utf-8"))
    assert (done.code, done.err) == (code, "")
    [drift] = report["drifts"]
    assert drift["grade"] == grade
    assert drift["findings"][0]["rule"] == rule
    assert drift["before"]["revision"] == project.commit
    assert drift["anchor"]["file"] == "template-lint.lock"
    expect(Path(__file__).parent, f"diff_{name}.txt", without_findings(done.out))


def test_nothing_moved(project: Project) -> None:
    project.push(project.files)
    done = project.diff()
    assert done.code == 0
    assert "no drift: nothing moved: main" in " ".join(done.out.split())


def test_two_revisions_of_a_repository_need_no_lock(project: Project, tmp_path: Path) -> None:
    other = project.push(qwen.with_other_line(project.files))
    done = qwen.run(
        "diff", f"{qwen.REPO}@{project.commit}", f"{qwen.REPO}@{other}", "--transformers", "5.24",
        hub=project.hub, home=project.home, cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 1
    assert "grade 2 of 3" in done.out and "lock --upgrade" not in done.out


def test_a_change_of_the_tokenizer_says_ids_and_what_they_stand_for(project: Project) -> None:
    project.push(qwen.without_call_tokens(project.files))
    project.diff("--output", "json=report.json", "--output", "markdown=report.md")
    [drift] = json.loads((project.folder / "report.json").read_text(encoding="utf-8"))["drifts"]
    [template] = drift["templates"]
    assert set(template["prompts"]["differing"].values()) == {"ids"}
    token = template["prompts"]["first"]["token"]
    assert (token["before_id"], token["after_id"]) == (220, 366)
    kinds = [change["kind"] for change in drift["tokenizer"]["changes"]]
    assert kinds == ["added-token-gone", "added-token-renumbered"]
    assert drift["tokenizer"]["changes"][0]["examples"][0] == {"token": "<tool_call>", "before": 151657, "after": None}
    assert "grade 2 of 3, prompts differ" in (project.folder / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("fault", "words"),
    [(GATED, "gated"), (NO_REPOSITORY, "no repository"), (NO_REVISION, "no revision")],
    ids=["gated", "gone", "no-revision"],
)
def test_a_live_side_that_cannot_be_read_is_exit_3_and_says_why(fault: object, words: str, project: Project) -> None:
    project.push(project.files)
    project.hub.fault("GET /api/models/*/revision/main", fault)  # type: ignore[arg-type]
    done = project.diff()
    project.hub.clear()
    assert done.code == 3, done.out
    assert done.out.startswith("NOT COMPARED")
    assert qwen.REPO in done.out


def test_a_revision_that_was_changed_alone_is_exit_3_and_names_the_command(project: Project) -> None:
    other = project.push(qwen.with_other_line(project.files))
    pinned = project.lock.read_text(encoding="utf-8")
    project.lock.write_text(pinned.replace(project.commit, other), encoding="utf-8")
    done = project.diff()
    project.lock.write_text(pinned, encoding="utf-8")
    assert done.code == 3
    assert "template-lint lock" in done.out
