"""What the sections of a report are made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from td3core.analysis.comparison import Comparison
from td3core.analysis.results import XAxis
from td3core.exporters.report.run_facts import RunFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """The runs of a report, compared."""

    comparison: Comparison
    bias: Comparison
    """The same groups by the bias of their critics."""
    runs: Mapping[Path, RunFacts]
    x: XAxis
    missing: list[str] = field(default_factory=list)
    """What the report lacks, in sentences; sections add to it."""

    @property
    def single(self) -> bool:
        """Whether the report is of one run."""
        return len(self.runs) == 1
