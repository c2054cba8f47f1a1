"""Names that other packages may use, in the order in which they are needed."""

from .assembly import (
    Scene as Scene,
    scene as scene,
    Frames as Frames,
    frames as frames,
    ground_joints as ground_joints,
    reference_path as reference_path,
    start_frame as start_frame,
)
from .overlays import (
    Camera as Camera,
    camera as camera,
    is_far as is_far,
)
from .colors import (
    INK as INK,
    PALETTE as PALETTE,
    PATH_COLORS as PATH_COLORS,
)
from .film import (
    Film as Film,
)
from .geometry import (
    Color as Color,
    rgb as rgb,
)
from .stage import (
    GHOST as GHOST,
    Recording as Recording,
    Stage as Stage,
    record as record,
)
