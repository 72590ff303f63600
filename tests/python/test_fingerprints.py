"""Fingerprints: rates that are known from a path, counts that are not the payload's, and what sizes show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from linkscope.answers.fingerprints import CARDS_GBITS, fingerprints, library_fingerprints
from linkscope.importers.peer_output import Movement
from linkscope.messages.catalog import codes, commands, message, sentence
from linkscope.messages.finding import Finding, Level

MIB = 1 << 20
ON_GPUS = ("device", "device")
PEER = Movement("peer", "copy-engine", "gpu:0", "gpu:1", memories=ON_GPUS)
BY_MPI = Movement("message", "mpi", memories=ON_GPUS, ranks=2)
IN_HOST = Movement("message", "mpi", memories=("pageable", "pageable"), ranks=2)
TO_GPU = Movement("to-gpu", "copy-engine", "numa:0", "gpu:0", memories=("pinned", "device"))


def found(rate: float, moves: Movement, **facts: Any) -> list[Finding]:
    """The findings, whose lines are whole and short."""
    all_of = fingerprints(rate, movement=moves, **facts)
    for one in all_of:
        assert one.level is not Level.ERROR or message(one.code).verdict
        assert 0 < len(sentence(one)) <= 100, sentence(one)
        commands(one)
    return all_of


def named(rate: float, moves: Movement, **facts: Any) -> list[str]:
    return [one.code.removeprefix("fingerprint.") for one in found(rate, moves, **facts)]


def test_messages_between_gpus_at_a_cards_rate_went_through_the_card() -> None:
    [one] = found(24.0, BY_MPI, line_gbps=150.0, pcie=(5, 16), size=4 * MIB)
    assert (one.code, one.level) == ("fingerprint.network", Level.ERROR)
    assert sentence(one) == "through the network card: 24.00 GB/s is 96% of 200 Gb/s"
    assert named(115.0, BY_MPI, line_gbps=150.0) == []


@pytest.mark.parametrize("gbits", CARDS_GBITS)
def test_every_card_is_known_by_its_rate(gbits: int) -> None:
    moves = Movement("network", "verbs")
    assert [one.facts["gbits"] for one in found(0.95 * gbits / 8, moves)] == [gbits]
    assert found(0.80 * gbits / 8, moves) == []


def test_copies_go_through_no_network_card() -> None:
    assert named(24.0, PEER) == ["pcie"]
    assert named(24.0, replace(IN_HOST, kind="host")) == []
    assert named(24.0, IN_HOST) == []


def test_where_slot_and_card_are_alike_both_are_named() -> None:
    assert named(24.0, BY_MPI, pcie=(4, 16)) == ["network", "over-pcie"]
    assert named(24.0, BY_MPI, pcie=(5, 16), line_gbps=450.0) == ["network"]


@pytest.mark.parametrize(("rate", "generation"), [(12.1, 3), (25.4, 4), (55.6, 5)])
def test_rates_of_pcie_are_known(rate: float, generation: int) -> None:
    [one] = found(rate, PEER, line_gbps=300.0)
    assert (one.code, one.level, one.facts["generation"]) == ("fingerprint.pcie", Level.ERROR, generation)
    assert found(rate, PEER)[0].level is Level.NOTE


def test_half_of_the_slot_is_fewer_lanes_or_an_older_generation() -> None:
    [one] = found(27.1, TO_GPU, pcie=(5, 16))
    assert (one.code, one.level) == ("fingerprint.part-of-pcie", Level.NOTE)
    assert sentence(one) == "PCIe x8 or 4.0: 27.10 GB/s is 43% of 5.0 x16 (63.00)"
    assert found(13.2, TO_GPU, pcie=(5, 16))[0].level is Level.ERROR
    assert named(55.0, TO_GPU, pcie=(5, 16)) == []


def test_pageable_and_opposed_copies_are_slow_without_a_fault() -> None:
    assert named(27.1, replace(TO_GPU, memories=("pageable", "device")), pcie=(5, 16)) == []
    assert named(27.1, replace(TO_GPU, opposed=True), pcie=(5, 16)) == []
    assert named(27.1, replace(TO_GPU, at_once=2), pcie=(5, 16)) == []


def test_both_directions_are_judged_each() -> None:
    assert named(52.0, replace(PEER, both=True), line_gbps=900.0) == ["pcie"]
    assert named(880.0, replace(PEER, both=True), line_gbps=900.0) == []


@pytest.mark.parametrize(
    ("rate", "line", "links"), [(256.6, 450.0, 12), (299.3, 450.0, 14), (129.0, 300.0, 6), (512.0, 900.0, 12)]
)
def test_whole_numbers_of_nvlinks_are_known(rate: float, line: float, links: int) -> None:
    [one] = found(rate, PEER, line_gbps=line)
    assert (one.code, one.facts["links"], one.level) == ("fingerprint.links", links, Level.ERROR)


def test_healthy_links_leave_no_fingerprint() -> None:
    assert named(256.6, PEER, line_gbps=300.0) == []
    assert named(395.0, PEER, line_gbps=450.0) == []
    assert named(350.0, PEER, line_gbps=450.0) == []
    assert named(256.6, PEER) == ["twelve-links"]


def test_half_of_a_gpus_memory_is_no_link() -> None:
    for line in (None, 64.0):
        [one] = found(515.0, BY_MPI, line_gbps=line, memory_gbps=1229.0)
        assert (one.code, one.level) == ("fingerprint.one-gpu", Level.ERROR)
    assert named(515.0, BY_MPI) == ["one-gpu-likely"]
    assert named(515.0, BY_MPI, line_gbps=450.0) == ["above-line"]
    assert named(778.0, PEER, line_gbps=900.0, memory_gbps=8000.0) == []


def test_rows_that_stay_are_taken_off() -> None:
    moves = Movement("collective", "deepep", collective="all-to-all", ranks=2, counts="own-rows")
    [one] = found(461.0, moves, line_gbps=450.0)
    assert (one.code, one.facts["crossed"]) == ("fingerprint.own-rows", 230.5)
    assert sentence(one) == "461.0 GB/s counts local rows; 230.5 crosses links (1 of 2 ranks)"
    [one] = found(461.0, replace(moves, ranks=0))
    assert (one.facts["of_two"], one.facts["of_eight"]) == (230.5, 403.375)


def test_other_counts_are_halved() -> None:
    assert found(2855.0, replace(PEER, kind="local", counts="read-and-written"))[0].facts["payload"] == 1427.5
    assert found(780.0, replace(PEER, counts="both-directions"))[0].facts["each"] == 390.0


def test_tcp_and_bounces_are_slow_between_gpus() -> None:
    [one] = found(0.52, Movement("peer", "ucx", memories=ON_GPUS), size=64 * MIB)
    assert (one.code, one.level) == ("fingerprint.tcp-ucx", Level.ERROR)
    assert named(0.52, BY_MPI, size=4096) == []
    assert named(0.52, IN_HOST) == []
    assert found(1.1, replace(BY_MPI, memories=("unknown", "unknown")))[0].level is Level.NOTE


def doubling(first: int, *rates: float) -> list[tuple[int, float]]:
    return [(first << index, rate) for index, rate in enumerate(rates)]


def test_a_lone_slow_size_is_named_with_its_factor() -> None:
    [one] = found(40.0, BY_MPI, line_gbps=50.0, sizes=doubling(128 << 10, 20, 28, 1.6, 36, 40))
    assert (one.code, one.facts["size"], one.facts["factor"]) == ("fingerprint.lone-size", 512 << 10, 17.5)


def test_a_step_is_named_with_both_sizes() -> None:
    [one] = found(20.0, BY_MPI, line_gbps=25.0, sizes=doubling(MIB, 38, 40, 18, 20))
    assert (one.code, one.facts["size"], one.facts["larger"]) == ("fingerprint.step-down", 2 * MIB, 4 * MIB)
    [one] = found(20.0, BY_MPI, line_gbps=25.0, sizes=doubling(8 << 10, 6, 8, 19, 20))
    assert (one.code, one.facts["larger"]) == ("fingerprint.step-up", 32 << 10)
    assert found(20.0, BY_MPI, line_gbps=25.0, sizes=doubling(8 << 10, 6, 11, 16, 20)) == []
    assert found(20.0, BY_MPI, line_gbps=25.0, sizes=doubling(8, 0.01, 0.005, 0.04, 0.08)) == []


def test_caches_end_in_host_memory_unless_the_card_takes_over() -> None:
    sizes = doubling(64 << 10, 50, 58, 64, 61, 40, 31)
    assert named(31.0, IN_HOST, sizes=sizes) == ["caches"]
    assert named(24.0, IN_HOST, sizes=[*sizes[:-1], (2 * MIB, 24.0)]) == ["falls", "network"]


def test_small_messages_that_take_long_are_named() -> None:
    sizes = [(size, size / 140e-6 / 1e9) for size in (8, 64, 512, 4096)]
    assert named(0.03, BY_MPI, size=4096, sizes=sizes) == ["slow-start"]


@pytest.mark.parametrize("rate", [0.0, -1.0])
def test_no_rate_is_no_fingerprint(rate: float) -> None:
    assert found(rate, PEER, sizes=[(0, 1.0), (8, 0.0)]) == []


def said(peer: float | None, rate: float | None = 9.8, **words: Any) -> list[Finding]:
    return library_fingerprints({"library": "NCCL", "version": "2.27.3", "hosts": 1, **words}, rate, peer)


def test_what_nccl_says_stands_beside_the_rate() -> None:
    [one] = said(26.0, transports={"SHM/direct": 12, "P2P/CUMEM": 4})
    assert sentence(one) == "NCCL went through host memory (SHM/direct); P2P reaches 26.00 GB/s"
    assert one.level is Level.ERROR
    assert any("NCCL_P2P_LEVEL=SYS" in command for command in commands(one))
    assert said(26.0, transports={"P2P/CUMEM": 16}) == []


@pytest.mark.parametrize(
    ("words", "code", "level"),
    [
        ({"transports": {"NET/IB": 8}}, "through-host-alone", Level.NOTE),
        ({"transports": {"SHM": 2}, "settings": {"NCCL_P2P_DISABLE": "1"}}, "p2p-disabled", Level.ERROR),
        ({"transports": {"NET/Socket": 8}, "hosts": 2}, "sockets", Level.NOTE),
        ({"transports": {"NET/IB": 8}, "hosts": 2}, "no-gpudirect", Level.NOTE),
    ],
)
def test_transports_are_told_by_where_they_lead(words: dict[str, Any], code: str, level: Level) -> None:
    [one] = said(None, **words)
    assert (one.code, one.level) == (f"fingerprint.{code}", level)
    assert len(sentence(one)) <= 100


def test_gpudirect_over_hosts_is_as_it_should_be() -> None:
    assert said(None, hosts=2, transports={"NET/IB/GDRDMA": 8, "P2P/CUMEM": 24}) == []


def test_every_code_has_a_line() -> None:
    assert all(message(code).line and message(code).label for code in codes() if code.startswith("fingerprint."))


def test_half_a_slot_is_told_of_plain_copies_alone() -> None:
    assert named(5.9, PEER) == ["pcie-half"]
    assert named(5.1, BY_MPI) == []


def test_a_networks_rate_that_falls_is_none_of_caches() -> None:
    host = Movement("message", "mpi", memories=("pageable", "pageable"), ranks=2, hosts=0)
    falls = [(1 << 14, 0.48), (1 << 18, 0.3), (1 << 22, 0.24)]
    assert "fingerprint.caches" not in [one.code for one in fingerprints(0.24, movement=host, sizes=falls)]
    faster = [(size, rate * 50) for size, rate in falls]
    assert "fingerprint.caches" in [one.code for one in fingerprints(12.0, movement=host, sizes=faster)]
