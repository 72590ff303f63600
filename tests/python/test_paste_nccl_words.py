"""NCCL's own words: what its log says of paths, channels, algorithms, NVLS, networks and settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscope.errors import LinkscopeError
from linkscope.importers import nccl_words
from linkscope.importers.nccl_words import scrubbed, words
from linkscope.importers.peer_output import Source
from linkscope.messages.catalog import sentence

HEAD = "node-a:4100:4177 [{}] NCCL INFO {}"


def source(*texts: str) -> Source:
    return Source(Path("nccl.log"), "\n".join(HEAD.format(number % 4, text) for number, text in enumerate(texts)))


@pytest.mark.parametrize(
    ("via", "name"),
    [
        ("Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM", "P2P/CUMEM"),
        ("Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM/read", "P2P/CUMEM/read"),
        ("Channel 00 : 0[1b000] -> 1[1c000] via P2P/IPC/read", "P2P/IPC/read"),
        ("Ring 00 : 0[0] -> 1[1] via P2P/direct pointer", "P2P/direct pointer"),
        ("Channel 02/0 : 0[0] -> 1[1] via P2P/indirect/2[2]", "P2P/indirect"),
        ("Channel 00 : 0[1b000] -> 1[1c000] via direct shared memory", "SHM/direct"),
        ("Channel 00 : 0[0] -> 1[1] via SHM/direct/direct", "SHM/direct/direct"),
        ("Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA", "NET/IB/GDRDMA"),
        ("Channel 00/0 : 0[0] -> 1[1] [receive] via NET/IB/3(2)/GDRDMA(PCI)/Shared", "NET/IB/GDRDMA(PCI)"),
        ("Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/1", "NET/Socket"),
        ("Channel 00/0 : 0[c9000] -> 1[d9000] via P2P/IPC comm 0x5583 nRanks 02", "P2P/IPC"),
    ],
)
def test_each_pair_counts_once_by_its_transport(via: str, name: str) -> None:
    back = via.replace("0[", "x[").replace("1[", "0[").replace("x[", "1[")
    said = words(source(via, via, back, via.replace("0[", "2[").replace("1[", "3[")))
    assert said.transports == {name: 2}


def test_a_log_alone_is_recognised_and_is_one_note() -> None:
    paste = source(
        "NCCL version 2.27.7+cuda12.9",
        "comm 0x55d0 rank 2 nRanks 8 nNodes 2 localRanks 4 localRank 2 MNNVL 0",
        "Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct",
        "NVLS multicast support is not available on dev 0 (NVLS_NCHANNELS 0)",
        "2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer",
        "TUNER/Plugin: Using tuner plugin nccl_ofi_tuner",
        "Using network IB",
        "NCCL_P2P_DISABLE set by environment to 1.",
        "NCCL_ALGO set by environment to RING",
        "NCCL_SOCKET_IFNAME set by environment to bond0",
        "AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}",
        "AllReduce: 1048576 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}",
    )
    assert nccl_words.recognises(paste.text)
    output = nccl_words.read(paste)
    (finding,) = output.findings
    facts = finding.facts
    assert output.figures == ()
    assert (output.version, output.versions, len(output.read)) == ("2.27.7", {"NCCL": "2.27.7"}, 12)
    assert facts["transports"] == {"SHM/direct/direct": 1}
    assert (facts["nvls"], facts["network"], facts["tuner"], facts["channels"]) == ("off", "IB", "nccl_ofi_tuner", 2)
    assert facts["algorithms"] == {"RING/LL": [1024, 1048576]}
    assert facts["settings"] == {"NCCL_P2P_DISABLE": "1", "NCCL_ALGO": "RING", "NCCL_SOCKET_IFNAME": ""}
    assert (facts["ranks"], facts["hosts"]) == (8, 2)
    assert sentence(finding).startswith("NCCL 2.27.7: SHM/direct/direct (1), 2 channels")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Connect to node18.corp.example failed", "Connect to ... failed"),
        ("node18 closed the connection to node-17", "... closed the connection to ..."),
        ("bind to fe80::a1b2:c3d4%eth0 failed", "bind to ... failed"),
        ("2001:db8::17 is gone", "... is gone"),
        ("std::bad_alloc in net.cc:12, NCCL 2.27.7", "std::bad_alloc in net.cc:12, NCCL 2.27.7"),
    ],
)
def test_hosts_that_no_line_begins_with_are_hidden_too(text: str, kept: str) -> None:
    assert scrubbed(text, ["node17"]) == kept


def test_hosts_whose_names_begin_with_a_digit_are_hidden() -> None:
    said = words(Source(Path("nccl.log"), "9abc:41:42 [0] misc/x.cc:1 NCCL WARN host 9abc failed"))
    assert list(said.warnings) == ["host ... failed"]


def test_rccl_has_its_own_name_and_a_log_of_nothing_is_refused() -> None:
    text = "RCCL version 2.18.3+hip6.0 HEAD:2f6d59e\n" + HEAD.format(
        0, "Channel 00/0 : 0[c9000] -> 1[d9000] via P2P/IPC"
    )
    assert nccl_words.read(Source(Path("rccl.log"), text)).tool == "RCCL"
    with pytest.raises(LinkscopeError, match="no line of NCCL's log"):
        nccl_words.read(source("Bootstrap timings total 0.5"))
    assert not nccl_words.recognises("NCCL version 2.27.7+cuda12.9\n")


def test_what_it_warns_of_is_kept_without_hosts_and_addresses() -> None:
    line = (
        "node-a:4100:4177 [3] transport/net_ib.cc:211 NCCL WARN NET/IB : Got completion from peer "
        "10.11.12.13<34934> with status=12 on node-a, file /home/someone/x.log, pid=4100"
    )
    said = words(Source(Path("nccl.log"), line))
    (warning,) = said.warnings
    assert warning.startswith("NET/IB : Got completion from peer ... with status=12 on ...")
    assert not any(word in warning for word in ("10.11", "node-a", "someone", "4100"))
    assert scrubbed("x" * 500) == "x" * 100
