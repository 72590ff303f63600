# How Spack builds linkscope, from the checkout that this file is in: see docs/install.md.
from pathlib import Path

from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.python import PythonPackage
from spack_repo.builtin.build_systems.rocm import ROCmPackage

from spack.package import *


class Linkscope(PythonPackage, CudaPackage, ROCmPackage):
    """Measures every way data can move inside a GPU node, and explains each figure."""

    import_modules = ["linkscope", "linkscope.cli"]  # the rest needs what variants bring
    git = Path(__file__).resolve().parents[6].as_uri()

    license("Apache-2.0")

    version("main", branch="main")
    version("0.2.0", tag="v0.2.0")

    variant(
        "mpi",
        default=True,
        description="The adapter to this MPI; without it, MPIs with the standard ABI",
    )
    variant("torch", default=False, description="PyTorch and mpi4py, for the methods torch-*")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja@1.10:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("numactl")
    depends_on("mpi", when="+mpi")
    depends_on("cuda@12:", when="+cuda")
    conflicts("%gcc@:10", msg="the engine is written in C++20")
    conflicts("+cuda", when="+rocm", msg="one GPU engine for each installation")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-scikit-build-core@0.10:", type="build")
    depends_on("py-typer@0.12:0.28", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    depends_on("py-msgspec@0.18:", type=("build", "run"))
    depends_on("py-tomli@2:", when="^python@:3.10", type=("build", "run"))
    depends_on("py-polars@1.36:", type=("build", "run"))
    depends_on("py-pyyaml@6:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-markupsafe@2.1:", type=("build", "run"))
    depends_on("py-nvidia-ml-py@12.535:", type=("build", "run"))
    depends_on("py-torch@2.4:", when="+torch", type="run")
    depends_on("py-mpi4py@4:", when="+torch", type="run")

    def config_settings(self, spec, prefix):
        """What CMake is told of the variants."""
        told = {
            "LINKSCOPE_CUDA": "ON" if spec.satisfies("+cuda") else "OFF",
            "LINKSCOPE_HIP": "ON" if spec.satisfies("+rocm") else "OFF",
            "LINKSCOPE_MPI": "ON" if spec.satisfies("+mpi") else "OFF",
            "CMAKE_UNITY_BUILD": "ON",
        }
        if spec.satisfies("+mpi"):
            told["LINKSCOPE_MPICC"] = spec["mpi"].mpicc
        if spec.satisfies("+cuda") and "none" not in spec.variants["cuda_arch"].value:
            told["CMAKE_CUDA_ARCHITECTURES"] = ";".join(spec.variants["cuda_arch"].value)
        if spec.satisfies("+rocm"):
            told["LINKSCOPE_HIPCC"] = spec["hip"].prefix.bin.hipcc
            told["CMAKE_HIP_ARCHITECTURES"] = ";".join(spec.variants["amdgpu_target"].value)
        defined = {f"cmake.define.{name}": value for name, value in told.items()}
        return {**defined, "build.tool-args": f"-j{make_jobs}"}

    def test_described_node(self):
        """The command and its host engine model two GPUs, in seconds."""
        command = which(self.prefix.bin.linkscope)
        command("run", "--machine", "frontier", "--devices", "gpu:0-1", "-o", "modelled.jsonl")
