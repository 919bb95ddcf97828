"""The data from which a report's sections are made."""

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
    """The same groups compared by the bias of their critics."""
    runs: Mapping[Path, RunFacts]
    x: XAxis
    missing: list[str] = field(default_factory=list)
    """Sentences about what the report lacks; sections add to it."""

    @property
    def single(self) -> bool:
        """Whether the report is about one run."""
        return len(self.runs) == 1
