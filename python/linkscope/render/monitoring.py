"""Monitoring: an answer for CI servers (JUnit) and for Prometheus' node exporter (textfile collector)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from xml.etree.ElementTree import Element, SubElement, tostring

from linkscope.answers.answer import Answer, Outcome
from linkscope.messages.catalog import sentence
from linkscope.messages.finding import Level
from linkscope.render.checked_lines import Line, findings, limit_of, lines, said

_NUMBERS = {Outcome.HOLDS: 0, Outcome.FAILS: 1, Outcome.UNCLEAR: 2, Outcome.UNTESTED: 3, None: 3}
_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd]")


def junit(answer: Answer) -> str:
    """Return JUnit XML: a test case for each checked result and each error, and one for the verdict.

    Unclear results are skipped; where there is no verdict, all that does not fail is. What keeps a run from a verdict,
    as that it was cut short, is an error and no failure.
    """
    name = f"linkscope.{answer.question}"
    suite = Element("testsuite", name=_xml(name))
    if answer.runs:
        suite.set("hostname", _xml(answer.run.host))
        suite.set("timestamp", _xml(answer.run.started))
    open_ = answer.outcome not in (Outcome.HOLDS, Outcome.FAILS)
    _case(suite, name, answer.headline.code, "skipped" if open_ else "", sentence(answer.headline))
    for found in findings(answer, Level.ERROR):
        _case(suite, name, " ".join((found.code, *found.where)), "error" if open_ else "failure", sentence(found))
    for line in lines(answer):
        fails = line["outcome"] == Outcome.FAILS.value
        skipped = open_ or line["outcome"] != Outcome.HOLDS.value
        named = " ".join(str(line[column]) for column in ("id", "path") if line.get(column))
        _case(suite, name, named, "failure" if fails else "skipped" if skipped else "", said(line))
    kinds = [case[0].tag for case in suite if len(case)]
    suite.set("tests", str(len(suite)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(kinds.count(tag)))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def prometheus(answer: Answer) -> str:
    """Return gauges in the text exposition format: the outcome, findings by code, and each checked result with its
    limit, in base units."""
    question = {"question": answer.question}
    number, passed = _NUMBERS[answer.outcome], float(answer.outcome is Outcome.HOLDS)
    codes = {found.code: found.level.value for found in (*answer.findings, *answer.details)}
    found = [
        f"# {' '.join(sentence(answer.headline).split())}",
        *_family("linkscope_outcome", "0 holds, 1 fails, 2 unclear, 3 untested", [(question, number)]),
        *_family(f"linkscope_{answer.question}_passed", "1 where the outcome holds", [({}, passed)]),
        *_family("linkscope_finding", "", [({**question, "code": c, "level": v}, 1) for c, v in codes.items()]),
    ]
    for unit, name, scale in (("GB/s", "bytes_per_second", 1e9), ("s", "seconds", 1.0)):
        alike = _strictest(line for line in lines(answer) if line.get("unit") == unit)
        values = [(_labels(line), line["value"] * scale) for line in alike]
        limits = [(_labels(line), (limit_of(line) or 0.0) * scale) for line in alike]
        found += _family(f"linkscope_{name}", "a checked result", values)
        found += _family(f"linkscope_limit_{name}", "its limit", limits)
    return "\n".join([*found, ""])


def _case(suite: Element, kind: str, name: str, tag: str, said: str) -> None:
    case = SubElement(suite, "testcase", classname=_xml(kind), name=_xml(name))
    if tag:
        SubElement(case, tag, message=_xml(said))


def _strictest(lines: Iterable[Line]) -> list[Line]:
    """Return one line of each result, with the limit that it is the furthest beyond."""
    found: dict[tuple[str, ...], Line] = {}
    for line in lines:
        key = tuple(_labels(line).values())
        if key not in found or (line.get("beyond") or 0) > (found[key].get("beyond") or 0):
            found[key] = line
    return list(found.values())


def _labels(line: Line) -> dict[str, str]:
    return {name: str(line[name] or "") for name in ("id", "place", "path")}


def _family(name: str, text: str, samples: Iterable[tuple[Mapping[str, str], float]]) -> list[str]:
    """Return a metric's lines; none where it has no sample."""
    said = [f"{name}{_braced(labels)} {value:.9g}" for labels, value in samples]
    head = [*([f"# HELP {name} {text}"] if text else []), f"# TYPE {name} gauge"]
    return [*head, *dict.fromkeys(said)] if said else []


def _braced(labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _xml(text: str) -> str:
    return _NO_XML.sub("?", text)
