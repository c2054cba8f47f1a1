"""Plain data as JSON that every program can read.

JSON has no word for what is not a number: a run that ended with one says null there.
"""

from __future__ import annotations

import json
import math
from typing import Any


def json_text(data: Any) -> str:
    """The text of plain data: dictionaries, lists, texts, numbers; null where one is not finite."""
    return json.dumps(_finite(data), indent=2, allow_nan=False)


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
