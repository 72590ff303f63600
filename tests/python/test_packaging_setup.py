"""Set-up: what it decides on machines unlike this one, and that each failure is one line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "setup"))

import cuda
import engines
import hip
import mpi
import shell
import system
import wheel
from environment import Environment
from shell import SetupError


class Pip:
    """Stands in for pip: knows which versions exist and remembers what was asked."""

    def __init__(self, *known: str) -> None:
        self.known = known
        self.asked: list[tuple[str, ...]] = []

    def install_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Environment, "pip", lambda environment, *arguments: self.run(environment, *arguments))

    def run(self, environment: Environment, *arguments: str) -> None:
        self.asked.append(arguments)
        if not any(version in arguments[1] for version in self.known):
            raise SetupError("pip install failed: no matching distribution")
        lib = environment.site_packages / "nvidia" / "cu13" / "lib"
        lib.mkdir(parents=True, exist_ok=True)
        (lib / "libcudart.so.13").touch()


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    environment = Environment(tmp_path)
    environment.site_packages.mkdir(parents=True)
    return environment


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_sites_mpicc_comes_before_that_of_this_checkouts_own_environment(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("MPICC", raising=False)
    monkeypatch.setenv("PATH", f"{environment.bin}:{tmp_path / 'site'}")
    assert mpi.site_compiler(environment) is None
    own = program(environment.bin / "mpicc", "true")
    assert mpi.site_compiler(environment) == own
    earlier = program(tmp_path / "unloaded" / "mpicc", "true")
    assert mpi.site_compiler(environment, earlier) == earlier
    assert mpi.site_compiler(environment, tmp_path / "gone") == own
    site = program(tmp_path / "site" / "mpicc", "true")
    assert mpi.site_compiler(environment, earlier) == site
    assert mpi.site_compiler(environment) == site
    other = program(tmp_path / "other" / "mpicc", "true")
    monkeypatch.setenv("MPICC", str(other))
    assert mpi.site_compiler(environment) == other
    monkeypatch.setenv("MPICC", str(tmp_path / "none"))
    with pytest.raises(SetupError, match="is no program"):
        mpi.site_compiler(environment)


def test_the_compiler_has_the_drivers_version(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    pip = Pip("13.1.*")
    pip.install_in(monkeypatch)
    nvcc = cuda.pypi_nvcc(environment, (13, 1))
    assert nvcc == environment.site_packages / "nvidia" / "cu13" / "bin" / "nvcc"
    assert pip.asked == [("install", *(f"{name}==13.1.*" for name in cuda.PYPI_PACKAGES))]
    assert (nvcc.parent.parent / "lib64" / "libcudart.so").exists(), "the names that nvcc and CMake look for"


def test_a_version_that_is_not_published_gives_way_to_an_older_one(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = Pip("13.0.*")
    pip.install_in(monkeypatch)
    cuda.pypi_nvcc(environment, (13, 2))
    assert [asked[1].split("==")[1] for asked in pip.asked] == ["13.2.*", "13.1.*", "13.0.*"]


def test_no_version_at_all_is_told(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    Pip().install_in(monkeypatch)
    with pytest.raises(SetupError, match="no matching distribution"):
        cuda.pypi_nvcc(environment, (13, 0))


@pytest.fixture
def toolkits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Toolkits of three versions side by side in the one usual place; none of them is named or on PATH."""
    monkeypatch.setattr(cuda, "INSTALLED", (tmp_path / "local",))
    monkeypatch.setattr(cuda, "find_program", lambda name: None)
    monkeypatch.delenv("CUDA_HOME", raising=False)
    versions = ("12.4", "12.8", "13.0")
    home = {version: tmp_path / "local" / f"cuda-{version}" for version in versions}
    return {version: program(home[version] / "bin" / "nvcc", f"echo release {version},") for version in versions}


@pytest.mark.parametrize(
    ("driver", "taken"), [((12, 2), "12.8"), ((12, 8), "12.8"), ((13, 0), "13.0"), ((14, 1), "13.0"), (None, "13.0")]
)
def test_the_newest_toolkit_that_the_driver_can_run_is_taken(
    environment: Environment,
    monkeypatch: pytest.MonkeyPatch,
    toolkits: dict[str, Path],
    driver: tuple[int, int] | None,
    taken: str,
) -> None:
    monkeypatch.setattr(cuda, "driver_version", lambda: driver)
    assert cuda.compiler(environment) == toolkits[taken]
    monkeypatch.setenv("CUDA_HOME", str(toolkits["12.4"].parents[1]))
    assert cuda.compiler(environment) == toolkits["12.4"], "what is named comes first"


@pytest.mark.parametrize(
    ("driver", "remedy"), [((12, 4), r"of CUDA 13, and .*CUDA 12\.4: .*toolkit 12.*580"), ((11, 8), r"CUDA 11\.8.*525")]
)
def test_a_driver_older_than_all_compilers_is_named_with_the_remedy(
    environment: Environment,
    monkeypatch: pytest.MonkeyPatch,
    toolkits: dict[str, Path],
    driver: tuple[int, int],
    remedy: str,
) -> None:
    toolkits["12.4"].unlink()
    toolkits["12.8"].unlink()
    monkeypatch.setattr(cuda, "driver_version", lambda: driver)
    with pytest.raises(SetupError, match=remedy) as caught:
        cuda.compiler(environment)
    assert "\n" not in str(caught.value)


def test_without_a_toolkit_a_new_driver_gets_the_compiler_from_pypi(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, toolkits: dict[str, Path]
) -> None:
    for nvcc in toolkits.values():
        nvcc.unlink()
    pip = Pip("13.1.*")
    pip.install_in(monkeypatch)
    monkeypatch.setattr(cuda, "driver_version", lambda: (13, 1))
    assert "cu13" in cuda.compiler(environment).parts


@pytest.mark.parametrize(("release", "version"), [("13.0, V13.0.88", (13, 0)), ("11.8, V11.8.89", (11, 8))])
def test_nvcc_says_its_version(tmp_path: Path, release: str, version: tuple[int, int]) -> None:
    nvcc = program(tmp_path / "nvcc", f"echo 'Cuda compilation tools, release {release}'")
    assert cuda.nvcc_version(nvcc) == version


def test_a_toolkit_too_old_for_cpp20_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "old" / "nvcc", "echo release 11.8,")
    new = program(tmp_path / "new" / "bin" / "nvcc", "echo release 12.4,")
    monkeypatch.setenv("PATH", str(tmp_path / "old"), prepend=":")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "new"))
    assert cuda.toolkit_nvcc() == new


def test_gpus_here_decide_what_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "nvidia-smi", "printf '9.0\\n9.0\\n8.6\\n10.0\\n'")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert cuda.architectures() == ["86", "90", "100"]
    assert cuda.architecture_flags("") == ["-DCMAKE_CUDA_ARCHITECTURES=86-real;90-real;100-real"]
    assert cuda.architecture_flags("80") == ["-DCMAKE_CUDA_ARCHITECTURES=80"]


def test_without_nvidia_smi_the_driver_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "nvidia-smi", "exit 9")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(cuda, "driver_capabilities", lambda: [(9, 0), (9, 0)])
    assert cuda.architectures() == ["90"]


def test_a_compiler_without_a_gpu_is_no_reason_for_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "nvcc", "echo 'Cuda compilation tools, release 13.0'")
    program(tmp_path / "hipcc", "exit 0")
    program(tmp_path / "nvidia-smi", "exit 9")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(cuda, "driver_capabilities", list)
    monkeypatch.setattr(hip, "architectures", list)
    assert engines.detected() == []
    monkeypatch.setattr(hip, "architectures", lambda: ["gfx942"])
    assert engines.detected() == ["hip"]


def test_the_kernel_names_amd_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for node, version in enumerate((0, 90402, 90010, 90402)):
        (tmp_path / str(node)).mkdir()
        (tmp_path / str(node) / "properties").write_text(f"simd_count 304\ngfx_target_version {version}\n")
    assert hip.architectures(tmp_path) == ["gfx90a", "gfx942"]
    assert hip.architectures(tmp_path / "none") == []
    monkeypatch.setattr(hip, "hipcc", lambda: None)
    with pytest.raises(SetupError, match="hipcc"):
        hip.cmake_flags("")


def test_an_extra_holds_those_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = Environment(Path(__file__).resolve().parents[2])
    monkeypatch.setattr(Environment, "python", Path(sys.executable))
    assert not any(name.startswith("pytest") for name in environment.requirements(""))
    assert any(name.startswith("pytest") for name in environment.requirements("dev"))
    assert not any(name.startswith("linkscope") for name in environment.requirements("dev"))
    assert any(name.startswith("mkdocs") for name in environment.requirements("docs"))
    assert not any(name.startswith(("pytest", "ruff")) for name in environment.requirements("docs"))


def test_without_root_the_command_to_type_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(system, "find_program", lambda name: Path("/usr/bin", name))
    with pytest.raises(SetupError) as caught:
        system.install(["g++", "libnuma-dev"])
    assert str(caught.value) == "missing system packages, please type: sudo apt-get install -y g++ libnuma-dev"


def test_a_gpu_engine_that_does_not_compile_leaves_the_host_engine(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def compile_engines(root: Path, _: Environment, wish: engines.Wish, flags: dict[str, list[str]]) -> None:
        if "cuda" in flags:
            raise SetupError("nvcc fatal: unsupported gpu architecture")

    monkeypatch.setattr(engines, "detected", lambda: ["cuda"])
    monkeypatch.setattr(engines, "gpu_flags", lambda name, environment, wish: [])
    monkeypatch.setattr(engines, "compile_engines", compile_engines)
    assert engines.build(tmp_path, environment, engines.Wish(tmp_path)) == ["host"]
    assert capsys.readouterr().out == "linkscope setup: no cuda engine: nvcc fatal: unsupported gpu architecture\n"
    with pytest.raises(SetupError):
        engines.build(tmp_path, environment, engines.Wish(tmp_path, engines=("host", "cuda")))


def test_gpus_are_those_that_the_engines_see(tmp_path: Path) -> None:
    program(tmp_path / "linkscope-engine-host", """echo '{"devices": [{"id": "numa:0"}]}'""")
    program(tmp_path / "linkscope-engine-hip", "exit 3")
    assert engines.gpus(tmp_path, ["host", "hip"]) == []
    program(tmp_path / "linkscope-engine-cuda", """echo '{"devices": [{"id": "numa:0"}, {"id": "gpu:0"}]}'""")
    assert engines.gpus(tmp_path, ["host", "cuda", "hip"]) == ["gpu:0"]


def test_a_long_compilation_says_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shell, "A_MOMENT_S", 3600.0)
    monkeypatch.setattr(shell, "A_WHILE_S", 0.0)
    ninja = program(tmp_path / "ninja", "echo '[1/2] a.o'; echo 'a warning'; echo '[2/2] b.o'")
    log = tmp_path / "log"
    shell.logged([str(ninja)], {}, log, "compiling the host engine")
    assert capsys.readouterr().out.splitlines() == [
        "linkscope setup: compiling the host engine: 1 of 2",
        "linkscope setup: compiling the host engine: 2 of 2",
    ]
    assert log.read_text() == f"$ {ninja}\n[1/2] a.o\na warning\n[2/2] b.o\n\n"


def test_a_command_that_fails_is_told_by_its_first_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ninja = program(tmp_path / "ninja", "echo fine; echo 'a.cpp: error: no such thing'; echo 'error: again'; exit 1")
    with pytest.raises(SetupError, match=r"^a.cpp: error: no such thing \(everything it said: "):
        shell.logged([str(ninja)], {}, tmp_path / "log", "compiling")
    assert capsys.readouterr().out == ""


def test_lint_needs_the_commands_of_single_files_and_no_compilation(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(engines, "logged", lambda command, *_: ran.append(command))
    engines.build(tmp_path, environment, engines.Wish(tmp_path / "lint", engines=("host",), until="configured"))
    assert [command[0] for command in ran] == ["cmake"]
    assert "-DCMAKE_UNITY_BUILD=OFF" in ran[0]
    engines.build(tmp_path, environment, engines.Wish(tmp_path / "test", engines=("host",)))
    assert [command[0] for command in ran[1:]] == ["cmake", "ninja"]
    assert "-DCMAKE_UNITY_BUILD=ON" in ran[1]


def test_the_wheel_holds_what_has_a_compiler_and_names_its_glibc(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dist, asked = tmp_path / "dist", []

    def logged(command: list[str], variables: dict[str, str], *_: object) -> None:
        asked.append((command, variables["CMAKE_ARGS"]))
        (dist / "linkscope-1-py3-none-linux_x86_64.whl").touch()

    Pip("ziglang", "scikit-build-core", "--prefer-binary").install_in(monkeypatch)
    monkeypatch.setattr(Environment, "ensure", lambda environment, extra: None)
    monkeypatch.setattr(cuda, "toolkit_nvcc", lambda: Path("/opt/cuda/bin/nvcc"))
    monkeypatch.setattr(hip, "hipcc", lambda: None)
    monkeypatch.setattr(wheel, "logged", logged)
    dist.mkdir()
    (dist / "linkscope-0-py3-none-linux_x86_64.whl").touch()  # of another day
    assert wheel.build(tmp_path, environment, dist, engines.Wish(tmp_path)).parent == dist
    (_, flags), (naming, _) = asked
    assert {"-DLINKSCOPE_CUDA=ON", "-DLINKSCOPE_HIP=OFF", "-DCMAKE_CUDA_COMPILER=/opt/cuda/bin/nvcc"} <= {
        *flags.split()
    }
    assert "CUDA_ARCHITECTURES" not in flags, "those of CudaEngine.cmake, whatever GPUs are here"
    assert "ziglang/zig" in flags
    assert naming[naming.index("--platform-tag") + 1].startswith("manylinux_2_28_")
    wheel.build(tmp_path, environment, dist, engines.Wish(tmp_path, engines=("host",)))
    assert "-DLINKSCOPE_CUDA=OFF" in asked[2][1], "only what is asked"
