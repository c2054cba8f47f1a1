"""An audit in lines for people and as plain data for programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from noslip.analysis.audit_splits import SMALL
from noslip.engines.system import Array

if TYPE_CHECKING:
    from noslip.analysis.audit_result import Audit, Failure, WheelAudit


def largest(values: Array) -> tuple[float, int]:
    """Largest value that is a number, and where it is; NaN and 0 without any."""
    if not np.any(~np.isnan(values)):
        return math.nan, 0
    k = int(np.nanargmax(values))
    return float(values[k]), k


def audit_lines(audit: Audit) -> list[str]:
    """What the ground must do, then the verdict."""
    if not audit.wheels:
        return [_line("no slip", "nothing rolls or skates: the model has no contacts")]
    lines = [*_demand_lines(audit), *_blade_lines(audit)]
    for moment in audit.unsupported:
        size, k = largest(moment.moment)
        lines.append(
            _line(
                "loads not known",
                f"planar joint '{moment.joint}' holds a moment about {moment.about}, up to "
                f"{size:.3g} N·m (t = {audit.t[k]:.4g} s), that its wheels cannot: {moment.fix}",
            )
        )
    lines += [_line("note", note) for note in audit.notes]
    return lines + _slip_lines(audit) + _lift_lines(audit)


def _line(label: str, text: str) -> str:
    return f"  {label:<19}  {text}"


def _demand_lines(audit: Audit) -> list[str]:
    """Largest demand and least load over all wheels."""
    wheels = audit.loaded
    if not wheels:
        return []
    (demand, k), wheel = max(((largest(w.demand), w) for w in wheels), key=lambda x: x[0][0])
    text = f"{_demand(demand)} at most ({wheel.name}, t = {audit.t[k]:.4g} s)"
    if any(w.is_shared for w in wheels):
        widest = max(largest(w.demand_range[:, 1])[0] for w in wheels)
        text += (
            f" in the least-norm split; {_demand(largest(audit.required)[0])} in the best one, "
            f"up to {_demand(widest)} in others"
        )
    (load, k), wheel = max(((largest(-w.normal), w) for w in wheels), key=lambda x: x[0][0])
    load = 0.0 if abs(load) <= audit.rounding[k] else load
    least = f"{-load:.4g} N at least ({wheel.name}, t = {audit.t[k]:.4g} s)"
    if any(np.any(np.isnan(w.normal)) for w in wheels):
        text, least = (f"{part}, where loads are known" for part in (text, least))
    return [_line("friction demand", text), _line("normal load", least)]


def _blade_lines(audit: Audit) -> list[str]:
    blades = [w for w in audit.wheels if w.kind == "blade"]
    if not blades:
        return []
    (force, k), blade = max(
        ((largest(np.abs(w.lateral)), w) for w in blades), key=lambda x: x[0][0]
    )
    return [_line("side force", f"{force:.4g} N at most ({blade.name}, t = {audit.t[k]:.4g} s)")]


def _slip_lines(audit: Audit) -> list[str]:
    """The verdict on slip, the worst of each wheel."""
    if audit.friction is None:
        return []
    without = [w.name for w in audit.wheels if w.kind == "wheel" and not w.has_load]
    if not audit.loaded:
        why = "the model has no wheels, and blades hold without friction"
        if without:
            why = f"the loads of {', '.join(without)} are not known"
        return [_line("no slip", f"no verdict: {why}")]
    ground = f"with friction {audit.friction:g}"
    slips = _worst(audit.slips)
    is_shared = any(w.is_shared for w in audit.loaded)
    required, k = largest(audit.required)
    texts = []
    if required > audit.friction + SMALL:
        if is_shared:
            texts.append(
                f"fails {ground}: however the wheels share, {_demand(required)} is needed at "
                f"t = {audit.t[k]:.4g} s, {_demand(required - audit.friction)} too much"
            )
        how = "in the least-norm split" if is_shared else f"fails {ground}:"
        texts += [f"{how} {_slip(slip)}" for slip in slips]
        if not texts:
            texts.append(f"fails {ground}: a wheel that lifts has nothing to push with")
    elif slips:
        texts += [
            f"depends on how the wheels share {ground}: in the least-norm split {_slip(slip)}, "
            f"in the best one {required:.3g} is needed"
            for slip in slips
        ]
    elif audit.verdict == "unknown":
        partly = [w.name for w in audit.loaded if np.any(np.isnan(w.normal))]
        texts.append(
            f"no verdict: the loads of {', '.join(partly or without)} are not known for part of "
            "the run"
        )
    else:
        margin = audit.friction - max(largest(w.demand)[0] for w in audit.loaded)
        widest, wheel = max((largest(w.demand_range[:, 1])[0], w.name) for w in audit.loaded)
        text = f"holds {ground}: margin {margin:.3g}"
        if widest > audit.friction + SMALL:
            text += f" in the least-norm split; in others {wheel} needs up to {_demand(widest)}"
        texts.append(text)
    if without:
        texts[-1] += f"; no verdict for {', '.join(without)}, whose loads are not known"
    return [_line("no slip", text) for text in texts]


def _slip(slip: Failure) -> str:
    return (
        f"{slip.wheel} needs {_demand(slip.value)} at t = {slip.time:.4g} s, "
        f"{_demand(slip.excess)} too much ({_stretch(slip)})"
    )


def _lift_lines(audit: Audit) -> list[str]:
    lines = []
    for lift in _worst(audit.lifts):
        how = "would lift" if lift.is_certain else "would lift in the least-norm split, not in all"
        lines.append(
            _line(
                "lift",
                f"{lift.wheel} {how}: load {lift.value:.4g} N at t = {lift.time:.4g} s "
                f"({_stretch(lift)})",
            )
        )
    return lines


def _worst(failures: tuple[Failure, ...]) -> list[Failure]:
    """The worst failure of each wheel, certain ones first."""
    worst: dict[str, Failure] = {}
    for failure in failures:
        other = worst.get(failure.wheel)
        if other is None or (failure.is_certain, failure.excess) > (other.is_certain, other.excess):
            worst[failure.wheel] = failure
    return list(worst.values())


def _stretch(failure: Failure) -> str:
    if failure.start == failure.end:
        return "one sample"
    return f"from {failure.start:.4g} to {failure.end:.4g} s"


def _demand(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3g}"


def audit_data(audit: Audit, samples: bool) -> dict[str, object]:
    """The audit as plain data; what is not a finite number is null."""
    required, k = largest(audit.required)
    data: dict[str, object] = {
        "friction": audit.friction,
        "verdict": audit.verdict,
        "required_friction": _number(required),
        "required_friction_time": _number(float(audit.t[k])) if len(audit.t) else None,
        "wheels": {wheel.name: _wheel_data(wheel, audit.t) for wheel in audit.wheels},
        "slips": [_failure_data(failure) for failure in audit.slips],
        "lifts": [_failure_data(failure) for failure in audit.lifts],
        "unsupported": [
            {
                "joint": u.joint,
                "wheels": list(u.wheels),
                "about": u.about,
                "largest_moment": _number(largest(u.moment)[0]),
                "fix": u.fix,
            }
            for u in audit.unsupported
        ],
        "notes": list(audit.notes),
    }
    if samples:
        data["time"] = _numbers(audit.t)
        data["required"] = _numbers(audit.required)
        data["samples"] = {
            wheel.name: {
                name: _numbers(getattr(wheel, name))
                for part in ("longitudinal", "lateral", "normal", "demand")
                for name in (part, f"{part}_range")
            }
            for wheel in audit.wheels
        }
    return data


def _wheel_data(wheel: WheelAudit, t: Array) -> dict[str, object]:
    data: dict[str, object] = {"kind": wheel.kind, "load_from": wheel.load_from}
    extremes = {
        "largest_demand": (wheel.demand, wheel.demand_range[:, 1], 1),
        "least_load": (wheel.normal, wheel.normal_range[:, 0], -1),
        "largest_load": (wheel.normal, wheel.normal_range[:, 1], 1),
        "largest_longitudinal": (
            np.abs(wheel.longitudinal), np.max(np.abs(wheel.longitudinal_range), axis=1), 1,
        ),
        "largest_lateral": (np.abs(wheel.lateral), np.max(np.abs(wheel.lateral_range), axis=1), 1),
    }  # fmt: skip
    for name, (values, bound, sign) in extremes.items():
        value, k = largest(sign * values)
        data[name] = _number(sign * value)
        data[f"{name}_time"] = _number(float(t[k])) if not math.isnan(value) else None
        data[f"{name}_any_split"] = _number(sign * largest(sign * bound)[0])
    return data


def _failure_data(failure: Failure) -> dict[str, object]:
    return {
        "wheel": failure.wheel,
        "start": failure.start,
        "end": failure.end,
        "time": failure.time,
        "value": _number(failure.value),
        "excess": _number(failure.excess),
        "is_certain": failure.is_certain,
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _numbers(values: Array) -> list[object]:
    if values.ndim > 1:
        return [_numbers(row) for row in values]
    return [_number(float(value)) for value in values]
