"""A check for other programs: JUnit XML for test servers, text for Prometheus' node exporter (textfile collector)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, tostring

from linkscope.analysis.check import BROKEN, UNCLEAR, CheckResult, Verdict
from linkscope.report import wording
from linkscope.report.check_text import quantity, verdict

_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd]")


def junit(found: CheckResult) -> str:
    """A test suite: a test case for every figure with a limit, every failed case and every limit without a figure."""
    cases = len(found.verdicts) + len(found.failed) + len(found.too_few) + len(found.unmatched)
    failures = str(len(found.broken) + len(found.failed) + len(found.too_few))
    skipped = str(found.count(UNCLEAR) + len(found.unmatched))
    suite = Element("testsuite", name="linkscope check", tests=str(cases), failures=failures, skipped=skipped)
    suite.set("hostname", _xml(found.host))
    suite.set("timestamp", _xml(found.started))
    for one in found.verdicts:
        case = SubElement(suite, "testcase", classname=_xml(found.node), name=_xml(f"{one.id} {one.path}"))
        said = f"{quantity(one, one.value)}, limit {quantity(one, one.limit)}"
        if one.verdict == BROKEN:
            SubElement(case, "failure", message=_xml(f"{said}, beyond it by {wording.percent(one.beyond)}"))
        elif one.verdict == UNCLEAR:
            SubElement(case, "skipped", message=_xml(f"{said}: the interval reaches over the limit"))
    for name, reason in found.failed:
        case = SubElement(suite, "testcase", classname=_xml(found.node), name=_xml(name))
        SubElement(case, "failure", message=_xml(reason))
    for few in found.too_few:
        case = SubElement(suite, "testcase", classname=_xml(found.node), name=_xml(few.what))
        SubElement(case, "failure", message=_xml(f"{few.count} of {few.of}: {few.reason}"))
    for limit in found.unmatched:
        case = SubElement(suite, "testcase", classname=_xml(found.node), name=_xml(limit.words))
        SubElement(case, "skipped", message="no figure of the run is held against this limit")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def prometheus(found: CheckResult) -> str:
    """Gauges in the text exposition format: every figure with its limit, and whether the node passed."""
    lines = [
        f"# {_comment(verdict(found))}",
        *_family("linkscope_check_passed", "1 where the node keeps all limits.", [({}, float(found.passed))]),
        *_family("linkscope_check_failed_cases", "Cases that failed.", [({}, float(len(found.failed)))]),
    ]
    for unit, name, what in (("GB/s", "bytes_per_second", "Rate"), ("s", "seconds", "Time")):
        alike = _strictest(one for one in found.verdicts if one.unit == unit)
        scale = 1e9 if unit == "GB/s" else 1.0
        lines += _family(
            f"linkscope_{name}", f"{what} of a case.", [(_labels(one), one.value * scale) for one in alike]
        )
        lines += _family(f"linkscope_limit_{name}", "Its limit.", [(_labels(one), one.limit * scale) for one in alike])
    return "\n".join(lines) + "\n"


def _strictest(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """One of each figure, with the limit it is the furthest beyond."""
    found: dict[tuple[str, str, str], Verdict] = {}
    for one in verdicts:
        key = (one.id, one.place, one.path)
        if key not in found or one.beyond > found[key].beyond:
            found[key] = one
    return list(found.values())


def _labels(one: Verdict) -> dict[str, str]:
    return {"id": one.id, "place": one.place, "path": one.path}


def _family(name: str, text: str, samples: list[tuple[dict[str, str], float]]) -> list[str]:
    """A metric's lines; none where it has no sample."""
    if not samples:
        return []
    told = [f"{name}{_braced(labels)} {value:.9g}" for labels, value in samples]
    return [f"# HELP {name} {text}", f"# TYPE {name} gauge", *dict.fromkeys(told)]


def _braced(labels: dict[str, str]) -> str:
    pairs = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _comment(text: str) -> str:
    return " ".join(text.split())


def _xml(text: str) -> str:
    return _NO_XML.sub("?", text)
