"""YamlLoader: the safe loader of YAML, by libyaml where PyYAML was built with it: ten times as fast."""

from __future__ import annotations

try:
    from yaml import CSafeLoader as YamlLoader
except ImportError:
    from yaml import SafeLoader as YamlLoader  # type: ignore[assignment]

__all__ = ["YamlLoader"]
