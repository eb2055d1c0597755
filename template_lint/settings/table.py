"""Everything that can be set, once: the source of the reader, the command line, the JSON Schema and the reference."""

# No postponed annotations: NamedTuple would compile each of them at start-up.
import enum
from typing import NamedTuple

from template_lint.config import REQUIREMENTS

SEVERITIES = ("error", "warning", "info")
FAIL_ON = (*SEVERITIES, "never")


class Kind(enum.Enum):
    """What a value is."""

    RULES = "a list of rules"
    SEVERITY = "a severity"
    FAIL_ON = "a severity, or never"
    SEVERITIES = "a mapping of rules to severities"
    REQUIREMENTS = "a list of requirements"
    TEXT = "a text"
    VERSION = "a version"
    TARGET = "a target"
    TARGETS = "a list of targets"
    PATH = "a path"
    PATHS = "a list of paths"
    PATTERNS = "a list of patterns"
    OUTPUTS = "a list of outputs"
    BOOL = "true or false"
    NUMBER = "a number"
    IGNORES = "a list of ignores"
    REASON = "a reason"


class Key(NamedTuple):
    """One thing to set: ``name`` in the file and, behind two dashes, on the command line.

    ``help`` is one line, ``default`` what holds without it, in words; ``example`` a value as YAML in one line;
    ``more`` what the reference says beyond the one line.
    """

    name: str
    kind: Kind
    help: str
    default: str
    example: str
    more: str = ""
    metavar: str | None = None


KEYS: tuple[Key, ...] = (
    Key(
        "targets",
        Kind.TARGETS,
        "What to check where no target is given.",
        "the template files below the current folder",
        "[templates/, Qwen/Qwen3-8B]",
        "Paths (a folder stands for every template file and model folder beneath it) and Hub repositories "
        "(`org/name`, `org/name@revision`, `hf:org/name`). An entry is a text, or a mapping with the keys below. What "
        "an entry says also holds when its target, or a file in its folder, is named on the command line. An ignore of "
        "a file also holds where the folder of its model is checked.",
    ),
    Key(
        "tokenizer",
        Kind.TARGET,
        "The tokenizer for templates that come without one.",
        "none",
        "Qwen/Qwen3-8B",
        metavar="TARGET",
    ),
    Key(
        "conversations",
        Kind.PATHS,
        "Your own conversations, JSON lines of messages, tools, kwargs.",
        "none",
        "[tests/rollouts.jsonl]",
        metavar="FILE",
    ),
    Key(
        "transformers",
        Kind.VERSION,
        "The transformers version to mirror.",
        "the installed one",
        '"5.24"',
        metavar="VERSION",
    ),
    Key(
        "select",
        Kind.RULES,
        "Only these rules: codes, prefixes (TL1) or names.",
        "all rules",
        "[TL1, TL203]",
        "On the command line, `--select` starts anew: `select`, `ignore`, `extend-select` and `extend-ignore` of the "
        "file do not count then.",
        metavar="RULES",
    ),
    Key(
        "ignore",
        Kind.RULES,
        "Not these rules.",
        "none",
        "[TL107, no-tool-support]",
        "An ignored rule is not asked anywhere. To accept a finding in one target, use `ignore` of that target, an "
        "inline ignore, or the baseline.",
        metavar="RULES",
    ),
    Key("extend-select", Kind.RULES, "These rules too.", "none", "[TL5]", metavar="RULES"),
    Key("extend-ignore", Kind.RULES, "Not these rules either.", "none", "[TL211]", metavar="RULES"),
    Key(
        "severity",
        Kind.SEVERITIES,
        "Give findings of a rule another severity.",
        "that of the rule",
        "{TL104: error, TL107: info}",
        "Where several words fit a rule, the longest wins.",
        metavar="RULE=SEVERITY",
    ),
    Key(
        "min-severity",
        Kind.SEVERITY,
        "The least severe finding that is shown; the others are counted.",
        "info",
        "warning",
        "It may not be above `fail-on`: what fails a run is shown.",
    ),
    Key("fail-on", Kind.FAIL_ON, "The least severe finding that fails the run.", "error", "warning"),
    Key(
        "require",
        Kind.REQUIREMENTS,
        "Fail a template that lacks this.",
        "nothing",
        "[tools]",
        "; ".join(f"`{name}` makes {code} an error" for name, code in REQUIREMENTS.items())
        + ". `tools` also asks the tool rules of a template that knows no tools.",
    ),
    Key(
        "inline-ignores",
        Kind.BOOL,
        "Honour ignores that are written in templates.",
        "in local files only, never in what comes from the Hub",
        "false",
    ),
    Key(
        "baseline",
        Kind.PATH,
        "Hide the findings that this file knows.",
        "none",
        "template-lint-baseline.json",
        metavar="FILE",
    ),
    Key(
        "lock",
        Kind.PATH,
        "The lock file that pins Hub models.",
        "the nearest template-lint.lock upwards, within the git repository",
        "template-lint.lock",
        metavar="FILE",
    ),
    Key(
        "exclude",
        Kind.PATTERNS,
        "Paths that folders leave out, as in .gitignore.",
        "none",
        '[vendor/, "*_old.jinja"]',
        "A pattern with a slash in it is relative to the file it stands in; one without matches a name at any depth. "
        "`*` and `?` stay within a name, `**` crosses folders.",
        metavar="PATTERN",
    ),
    Key(
        "force-exclude",
        Kind.BOOL,
        "Leave excluded paths out even if they are named.",
        "false",
        "true",
        "For tools that name files, such as pre-commit.",
    ),
    Key(
        "output",
        Kind.OUTPUTS,
        "text, concise, json, sarif, code-scanning, junit, github, markdown or html, to standard output or a file.",
        "text",
        "[text, json=report.json]",
        metavar="FORMAT[=FILE]",
    ),
    Key("statistics", Kind.BOOL, "Count the findings by rule.", "false", "true"),
    Key("jobs", Kind.NUMBER, "Worker processes.", "one per processor", "2", metavar="N"),
    Key("offline", Kind.BOOL, "Use no network; Hub targets come from the cache.", "false", "true"),
    Key("cache", Kind.BOOL, "Use results of earlier runs.", "true", "false"),
)

TARGET_KEYS: tuple[Key, ...] = (
    Key("target", Kind.TARGET, "The path or repository.", "required", "Qwen/Qwen3-8B"),
    Key(
        "tokenizer",
        Kind.TARGET,
        "The tokenizer for this target, where it has none.",
        "that of the run",
        "Qwen/Qwen3-8B",
    ),
    Key("conversations", Kind.PATHS, "Further conversations for this target.", "none", "[tests/qwen.jsonl]"),
    Key("require", Kind.REQUIREMENTS, "What this target must have besides.", "nothing", "[tools]"),
    Key(
        "ignore",
        Kind.IGNORES,
        "Findings that are expected here, with the reason.",
        "none",
        "[{rules: [TL104], reason: no user turns}]",
    ),
)

IGNORE_KEYS: tuple[Key, ...] = (
    Key("rules", Kind.RULES, "Codes, prefixes or names.", "required", "[TL104]"),
    Key("reason", Kind.REASON, "Why these findings are accepted.", "required", "this run has no user turns"),
)


def key_named(name: str) -> Key:
    """The key with this name; KeyError where there is none."""
    return next(key for key in KEYS if key.name == name)
