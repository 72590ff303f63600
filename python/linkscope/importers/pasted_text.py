"""Pasted text: what launchers, loggers, terminals and mail put around a tool's lines, taken away again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from linkscope.errors import LinkscopeError

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|[@-Z\\-_])")
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_QUOTED = re.compile(r"(?:> ?){1,8}")
_ALWAYS = (
    re.compile(r"\[\d{1,6},\d{1,6}\](?:\[[^\]\s]{1,80}\])?<std(?:out|err)>: ?"),  # mpirun --tag-output
    re.compile(
        r"\[\d{4}-\d\d-\d\d[ T][\d:.,]{5,20}Z?\](?: \{[^}]{1,80}\}| \[[^\]]{1,80}\]){0,3}(?: [A-Z]{4,8}(?: -|:))? ?"
    ),
    re.compile(
        r"\d{4}-\d\d-\d\d[ T][\d:.,]{5,20}(?:Z|[+-]\d\d:?\d\d)?(?: std(?:out|err) [FP])?"
        r"(?: - (?!INFO|WARN|DEBUG|ERROR)[\w.]{1,60})?(?:(?: -)? \[?(?:INFO|WARNING|WARN|DEBUG|ERROR)\]?(?: -|:)?)? ?"
    ),
    re.compile(r"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,6} {1,4}\d{1,9} [\w.]{1,60}:\d{1,6}\] ?"),  # glog
    re.compile(r"\[pod/[\w./-]{1,200}\] ?"),  # kubectl logs --prefix
    re.compile(r"\((?:\w{1,40} )?(?:pid|ip)=[^)]{1,80}\) ?"),  # Ray
)
"""Prefixes that no tool's own line begins with."""
_COMMON = (
    re.compile(r" {0,6}\d{1,6}: ?"),  # srun --label
    re.compile(r"\[(?:rank)?\d{1,6}\]:? ?"),  # mpiexec -prepend-rank, torchrun
    re.compile(r"[A-Za-z][\w.-]{0,62} {0,20}\| "),  # docker compose
    re.compile(r"[A-Za-z][\w.-]{0,62}: "),  # pdsh, clush
)
"""Prefixes that a tool's own line may begin with: taken away where nearly all lines have one."""
_MOST = 0.8
_FEW = 64
"""Different prefixes of one kind at most: one a rank or host."""
_PROMPT = re.compile(r"(?:[\w.-]{1,40}@[\w.-]{1,80}[: ]?[^\s$#]{0,120})?\$ (?=\S)")


def decoded(data: bytes, name: str) -> str:
    """Return a file's text. Raises LinkscopeError, one line, where it is no printable text."""
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise LinkscopeError(f"{name} is no text (line {line}): give what the tool printed") from error
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    odd = _FORBIDDEN.search(text)
    if odd is not None:
        line = text.count("\n", 0, odd.start()) + 1
        raise LinkscopeError(f"{name}, line {line}: a control character ({odd.group()!a}): no tool prints that")
    return text


def cleaned(text: str) -> list[str]:
    """Return the lines of a text as the tool printed them, as many as there are: without what a launcher, a logger, a
    terminal or mail put before them. Of a line that was printed over (CR), its last state counts. A shell's prompt
    becomes "$ ". A JSON document stays as it is."""
    if text[:1024].lstrip()[:1] == "{" and text[-1024:].rstrip()[-1:] == "}":
        return text.split("\n")
    lines = [line.rstrip("\r").rpartition("\r")[2].replace("\u00a0", " ").rstrip() for line in text.split("\n")]
    lines = _dedented([_without(line, _QUOTED) for line in lines])
    for _ in range(2):  # a logger's lines may stand behind a launcher's tag, and the other way round
        for prefix in _ALWAYS:
            lines = [_without(line, prefix) for line in lines]
        for prefix in _COMMON:
            lines = _without_common(lines, prefix)
    return _dedented([_PROMPT.sub("$ ", line, count=1) if _PROMPT.match(line) else line for line in lines])


def _without(line: str, prefix: re.Pattern[str]) -> str:
    match = prefix.match(line)
    return line[match.end() :] if match else line


def _without_common(lines: Sequence[str], prefix: re.Pattern[str]) -> list[str]:
    matches = [prefix.match(line) if line.strip() else None for line in lines]
    found = Counter(match.group().strip() for match in matches if match)
    written = sum(bool(line.strip()) for line in lines)
    if written < 3 or sum(found.values()) < _MOST * written or len(found) > min(_FEW, written // 2):
        return list(lines)
    return [line[match.end() :] if match else line for match, line in zip(matches, lines, strict=True)]


def _dedented(lines: Sequence[str]) -> list[str]:
    """Return the lines without the blanks that all of them begin with, as of a list or a quoted block of code."""
    least = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    return [line[least:] for line in lines]
