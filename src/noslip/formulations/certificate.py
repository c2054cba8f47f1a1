"""`Certificate`: the result of `verify`, as a small table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One line of a certificate: the quantity compared, and its worst relative disagreement."""

    check: str
    disagreement: float
    where: str

    @property
    def holds(self) -> bool:
        """Whether it is within the tolerance (a NaN is not)."""
        return bool(self.disagreement <= Certificate.TOLERANCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Result of `verify`: all checks, with their disagreements.

    Parameters
    ----------
    model : name of the model.
    formulations : names of those compared.
    states : number of random states.
    findings : each check with its worst disagreement.
    vakonomic : largest relative difference of the vakonomic accelerations, which need not be small.
    """

    model: str
    formulations: tuple[str, ...]
    states: int
    findings: tuple[CheckResult, ...]
    vakonomic: float

    #: Relative disagreement that is tolerated.
    TOLERANCE: ClassVar[float] = 1e-9

    @property
    def holds(self) -> bool:
        """Whether every check is within the tolerance."""
        return all(finding.holds for finding in self.findings)

    @property
    def worst(self) -> float:
        """The largest disagreement of all checks."""
        return max((f.disagreement for f in self.findings), default=0.0)

    def text(self) -> str:
        """The certificate as a small table."""
        width = max(len(f.check) for f in self.findings)
        verdict = "agree" if self.holds else "DISAGREE"
        lines = [
            f"{self.model}: {len(self.formulations)} formulations {verdict} at {self.states} "
            f"random states (worst {self.worst:.2g}, tolerance {Certificate.TOLERANCE:.0e})",
            f"  {', '.join(self.formulations)}",
        ]
        for f in self.findings:
            mark = "ok  " if f.holds else "FAIL"
            lines.append(f"  {mark} {f.check:<{width}}  {f.disagreement:<7.2g}  {f.where}".rstrip())
        if self.vakonomic <= Certificate.TOLERANCE:
            lines.append("  note vakonomic mechanics coincides: the constraints are integrable")
        elif self.vakonomic != self.vakonomic:
            lines.append("  note vakonomic mechanics has no loads that forces could depend on")
        else:
            lines.append(
                f"  note vakonomic mechanics is a different theory: its accelerations differ by "
                f"{self.vakonomic:.2g}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text()

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {
            "model": self.model,
            "holds": self.holds,
            "tolerance": Certificate.TOLERANCE,
            "states": self.states,
            "formulations": list(self.formulations),
            "findings": [
                {"check": f.check, "disagreement": f.disagreement, "where": f.where}
                for f in self.findings
            ],
            "vakonomic_difference": self.vakonomic,
        }
