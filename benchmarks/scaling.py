"""How time grows with the number of templates and with the number of messages in a conversation.

python benchmarks/scaling.py [--most-templates N] [--most-messages N]

Templates: the whole command on the same ten files of the corpus, repeated under other names and with a comment of their
own, so that nothing is shared. Messages: one tool loop of that many messages, cut in ten places, on a template that
holds and on one that breaks (there the cause is searched for), in this process and in processor time. An exponent of 1
is linear.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

from measure import corpus, growth, ours, run

from template_lint.facts import TemplateFacts
from template_lint.facts.cause import find_cause
from template_lint.rendering.api import make_context
from template_lint.rendering.profiles import parse_profile

RUNS = 3


def templates(most: int) -> None:
    """Time for 1, 10, 100 ... templates."""
    files = sorted(corpus().glob("*.jinja"))[::79]
    sizes, times = [], []
    count = 1
    while count <= most:
        with tempfile.TemporaryDirectory() as folder:
            for index in range(count):
                source = files[index % 10].read_text(encoding="utf-8")
                (Path(folder) / f"{index:05}.jinja").write_text(f"{{#- copy {index} -#}}{source}", encoding="utf-8")
            command = [ours(), "check", folder, "--no-cache", "--output", "concise"]
            sizes.append(count)
            times.append(statistics.median(run(command).seconds for _ in range(1 if count > 100 else RUNS)))
        print(f"{count:6} templates {times[-1]:9.2f} s {times[-1] / count * 1000:9.2f} ms each", flush=True)
        count *= 10
    if len(sizes) > 2:
        print(f"growth exponent over {sizes[1]} to {sizes[-1]} templates: {growth(sizes[1:], times[1:]):.2f}")


def tool_loop(count: int) -> list[dict[str, Any]]:
    """A conversation of about ``count`` messages: one question, then calls and results."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "When is high water?"}]
    while len(messages) < count:
        number = len(messages)
        call = {"name": "lookup_tide", "arguments": {"port": f"port {number}"}}
        calls = [{"id": f"call{number:05}", "type": "function", "function": call}]
        messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        result = {"role": "tool", "tool_call_id": f"call{number:05}", "name": "lookup_tide", "content": f"{number} cm"}
        messages.append(result)
    return messages


def ask(facts: TemplateFacts, messages: list[dict[str, Any]]) -> bool:
    """Ten prefix questions along the conversation, and the cause of the last if it breaks; whether it does."""
    broken = False
    for part in range(1, 11):
        cut = max(2, len(messages) * part // 10 // 2 * 2)
        texts, contexts = [], []
        for count in (cut, cut + 1):
            context = make_context(messages[:count], facts.profile, add_generation_prompt=count > cut)
            contexts.append(context)
            texts.append(facts.template.render(context).text or "")
        broken = not texts[1].startswith(texts[0])
    if broken:
        find_cause(facts.template, (contexts[0], contexts[1]), (texts[0], texts[1]))
    return broken


def messages(name: str, most: int) -> None:
    """Time for a conversation of 10, 100, 1000 ... messages."""
    facts = TemplateFacts((corpus() / name).read_text(encoding="utf-8"), parse_profile("5.24"))
    ask(facts, tool_loop(10))
    sizes, times = [], []
    count = 10
    print(name)
    while count <= most:
        conversation = tool_loop(count)
        best = float("inf")
        for _ in range(RUNS):
            started = process_time()
            broken = ask(facts, conversation)
            best = min(best, process_time() - started)
        sizes.append(len(conversation))
        times.append(best)
        state = "breaks" if broken else "holds"
        print(f"{sizes[-1]:6} messages  {best:9.4f} s {best / sizes[-1] * 1000:9.3f} ms each, {state}", flush=True)
        count *= 10
    if len(sizes) > 1:
        print(f"growth exponent over {sizes[0]} to {sizes[-1]} messages: {growth(sizes, times):.2f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most-templates", type=int, default=1000)
    parser.add_argument("--most-messages", type=int, default=10_000)
    arguments = parser.parse_args()
    messages("Qwen-Qwen2.5-7B-Instruct.jinja", arguments.most_messages)
    messages("Qwen-Qwen3-0.6B@a55ee1.jinja", arguments.most_messages)
    templates(arguments.most_templates)


if __name__ == "__main__":
    main()
