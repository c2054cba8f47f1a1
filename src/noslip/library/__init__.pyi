"""Names that other packages may use, in the order in which they are needed."""

from .models import (
    MODELS as MODELS,
)
from .models import (
    AskedSize as AskedSize,
    KINDS as KINDS,
    template_text as template_text,
)
