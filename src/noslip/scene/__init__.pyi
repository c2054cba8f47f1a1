"""Names that other packages may use, in the order in which they are needed."""

from .assembly import (
    Scene as Scene,
    scene as scene,
)
from .cameras import (
    Camera as Camera,
    camera as camera,
    extent as extent,
    is_far as is_far,
)
from .colors import (
    BODY_PATH as BODY_PATH,
    CONTACT_PATH as CONTACT_PATH,
    ESTIMATE as ESTIMATE,
    INK as INK,
    PALETTE as PALETTE,
)
from .film import (
    FINER as FINER,
    Film as Film,
    find_ffmpeg as find_ffmpeg,
    still as still,
    write_gif as write_gif,
    write_mp4 as write_mp4,
)
from .geometry import (
    placed as placed,
    quaternions_of as quaternions_of,
    rotations_of as rotations_of,
)
from .meshes import (
    Color as Color,
    rgb as rgb,
)
from .overlays import (
    REFERENCE_TRACE as REFERENCE_TRACE,
    grids as grids,
    trace_names as trace_names,
    traces as traces,
)
from .poses import (
    Frames as Frames,
    frames as frames,
    ground_joints as ground_joints,
    reference_path as reference_path,
)
from .render import (
    CameraView as CameraView,
)
from .stage import (
    GHOST as GHOST,
    Stage as Stage,
    recording_html as recording_html,
)
