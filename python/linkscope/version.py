"""The version, in the one place that pyproject.toml and CMakeLists.txt read it from."""

__version__ = "0.2.0"
