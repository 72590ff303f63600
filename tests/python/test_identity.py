"""Identity: serial numbers as NVML, amdgpu and the firmware tell them; what nobody numbered has none."""

from __future__ import annotations

from pathlib import Path

import modelled_run as made

from linkscope.answers.questions import ask
from linkscope.answers.setup_changes import setup_changes
from linkscope.figures.run import Run
from linkscope.machine.identity import GpuIdentity, Identity, read_identity
from linkscope.results.limits import SCHEMA, Limit, Limits
from linkscope.results.run_file import RunFile

GPUS = {"devices": [{"id": "numa:0"}, *({"id": f"gpu:{n}", "pci": f"0000:0{n}:00.0"} for n in range(3))]}


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(f"{text}\n")


def test_each_source_is_asked_and_what_is_no_number_left_out(tmp_path: Path) -> None:
    dmi, pci = "sys/class/dmi/id", "sys/bus/pci/devices"
    write(tmp_path, f"{dmi}/sys_vendor", "Maker")
    write(tmp_path, f"{dmi}/product_name", "Node 8")
    write(tmp_path, f"{dmi}/product_serial", "To be filled by O.E.M.")
    write(tmp_path, f"{dmi}/board_serial", "B77")
    write(tmp_path, f"{pci}/0000:01:00.0/unique_id", "9f3b")
    write(tmp_path, f"{pci}/0000:01:00.0/serial_number", "P1")
    found = read_identity(GPUS, tmp_path, {"0000:00:00.0": {"uuid": "GPU-0"}})
    gpus = {"gpu:0": GpuIdentity(None, "GPU-0"), "gpu:1": GpuIdentity("P1", "9f3b"), "gpu:2": GpuIdentity()}
    assert found == Identity("Maker Node 8", None, "B77", gpus)
    assert Identity.from_json(found.to_json()) == Identity(
        "Maker Node 8", None, "B77", {g: gpus[g] for g in ("gpu:0", "gpu:1")}
    )


def run(uuid: str) -> RunFile:
    case = made.case("copy", [made.flow("gpu:0", "gpu:1")], {})
    found = made.run(found=[made.ok(case, [made.seconds(1 << 20, 100, "copy")])])
    found.header["identity"] = {"gpus": {"gpu:0": {"serial": "1", "uuid": uuid}, "gpu:1": {"serial": "2"}}}
    return found


def test_another_gpu_in_the_same_host_is_a_change() -> None:
    def changes(new: RunFile) -> list[tuple[str, str, str, str]]:
        found = setup_changes(Run.of(run("GPU-a")), Run.of(new), ())
        return [(one.device, one.setting, one.base, one.new) for one in found]

    assert changes(run("GPU-a")) == []
    assert changes(run("GPU-b")) == [("gpu:0", "identity", "GPU-a", "GPU-b")]
    elsewhere = run("GPU-b")
    elsewhere.header["host"] = "other"
    assert [setting for _, setting, *_ in changes(elsewhere)] == ["host"]


def test_the_first_number_that_both_know_says_whether_two_are_of_one_node() -> None:
    gpus = {"gpu:0": GpuIdentity("1", "a"), "gpu:1": GpuIdentity("1", "b")}
    exchanged = {**gpus, "gpu:1": GpuIdentity("2", "c")}
    of_root, of_user = Identity(product_serial="P", board_serial="B", gpus=gpus), Identity(gpus=exchanged)
    assert of_root.same_node(of_user) is True
    assert of_root.same_node(Identity(product_serial="P", gpus={"gpu:0": GpuIdentity(uuid="z")})) is True
    assert of_root.same_node(Identity(product_serial="other", gpus=gpus)) is False
    assert of_user.same_node(Identity(gpus={"gpu:0": GpuIdentity(uuid="z")})) is None, "others of the node"
    assert of_user.same_node(Identity(gpus={"gpu:0": GpuIdentity(serial="2")})) is True
    assert of_user.same_node(Identity(board_serial="B")) is None
    assert Identity().same_node(Identity()) is None


def test_a_check_says_which_gpus_it_was() -> None:
    found = ask(
        "check", run("GPU-a"), limits=Limits(schema=SCHEMA, limits=[Limit({"method": "copy-engine"}, least_gbps=1.0)])
    )
    assert found.data["identity"]["gpus"]["gpu:0"] == {"serial": "1", "uuid": "GPU-a"}
