"""Safe loaders of YAML, by libyaml where PyYAML was built with it: ten times as fast."""

from __future__ import annotations

try:
    from yaml import CSafeLoader as YamlLoader
except ImportError:
    from yaml import SafeLoader as YamlLoader  # type: ignore[assignment]

__all__ = ["SuiteLoader", "YamlLoader"]


class SuiteLoader(YamlLoader):
    """Suites' own: on, off, yes and no are words, not truth values."""


SuiteLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if first in "tfTF" or tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in YamlLoader.yaml_implicit_resolvers.items()
}
