"""Everything a report contains, gathered before a line of it is written."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from noslip import FormulationError, Model, System, Trajectory, audit, verify
from noslip.analysis import touches_ground
from noslip.formulations import known_formulations
from noslip.model import check_model
from noslip.results import Audit, Certificate
from noslip.show.check import CheckReport, describe
from noslip.show.equations.derivation_text import Derivation, derivation

#: Certificates of the models that were reported last, with the formulations compared.
_RECENT: deque[tuple[Model, tuple[type, ...], Certificate]] = deque(maxlen=8)

#: Called with a word on what is being done.
StatusCallback = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReportSubject:
    """A run and what is known about it.

    Parameters
    ----------
    system : what was simulated.
    run : what happened.
    facts : further words on what was simulated, such as the path.
    audit : None without contacts or samples.
    certificate : None where no random state could be found; then `without_certificate` says why.
    """

    system: System
    run: Trajectory
    facts: dict[str, str]
    command: str
    checked: CheckReport
    derivation: Derivation
    audit: Audit | None
    certificate: Certificate | None
    without_certificate: str

    @property
    def model(self) -> Model:
        """The mechanism."""
        return self.run.model

    @property
    def has_motion(self) -> bool:
        """Whether there is anything to draw."""
        return len(self.run.t) > 1

    @property
    def changed(self) -> dict[str, float]:
        """Parameters that differ from the nominal ones → the nominal values."""
        values = self.run.parameters
        return {p.name: p.value for p in self.model.parameters if values[p.name] != p.value}


def gather(
    system: System,
    run: Trajectory,
    *,
    facts: Mapping[str, str],
    command: str,
    audited: Audit | None,
    tell: StatusCallback,
) -> ReportSubject:
    """Derive, check, verify and audit what was simulated."""
    known = dict(facts)
    if run.path_errors is not None and len(run.t):
        known["tracking"] = f"{run.covered()}: {run.path_errors.text()}"
    is_judged = touches_ground(system) and run.contact == "ideal"
    if audited is None and is_judged and len(run.t):
        tell("auditing")
        audited = audit(system, run)
    tell("verifying")
    certificate, reason = _certificate(system, run)
    tell("writing equations")
    return ReportSubject(
        system=system,
        run=run,
        facts=known,
        command=command,
        checked=describe(system, check_model(run.model)),
        derivation=derivation(system.equations),
        audit=audited,
        certificate=certificate,
        without_certificate=reason,
    )


def _certificate(system: System, run: Trajectory) -> tuple[Certificate | None, str]:
    """The certificate of the mechanism with the numbers it ran with, or why there is none."""
    parameters = tuple(
        dataclasses.replace(p, value=run.parameters[p.name]) for p in run.model.parameters
    )
    model = dataclasses.replace(run.model, parameters=parameters)
    # random states suit the parameters, so what was traced with others is traced again
    traced = system.kinematics if parameters == system.model.parameters else None
    try:
        formulations = tuple(f for f in known_formulations().values() if f.is_dalembert)
        known = tuple(map(type, formulations))
        for one, compared, certificate in tuple(_RECENT):
            if compared == known and one == model:
                return certificate, ""
        certificate = verify(model, formulations=formulations, kinematics=traced)
    except FormulationError as error:
        return None, error.what
    _RECENT.append((model, known, certificate))
    return certificate, ""
