"""Vendor: which settings of the environment mean something to a vendor's GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from linkscope.plan.suite_row import Variant


def own_variants(variants: Sequence[Variant], vendor: str | None) -> tuple[Variant, ...]:
    """Those without settings for another vendor's GPUs; none where no settings are left."""
    own = tuple(one for one in variants if vendor is None or one.vendor in (vendor, None))
    return own if any(one.settings for one in own) else ()
