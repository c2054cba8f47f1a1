"""Names that other packages may use, in the order in which they are needed."""

from .angle_coordinates import (
    angle_joints as angle_joints,
    in_angles as in_angles,
)
from .bodies import (
    Body as Body,
    Placement as Placement,
    WORLD as WORLD,
)
from .checks import (
    check_model as check_model,
)
from .checks_expressions import (
    is_undefined as is_undefined,
    texts_of as texts_of,
)
from .checks_numbers import (
    LARGEST as LARGEST,
    SMALLEST as SMALLEST,
)
from .checks_units import (
    DimensionError as DimensionError,
    dimension as dimension,
)
from .contacts import (
    AbstractContact as AbstractContact,
    CLOSEST_ROW as CLOSEST_ROW,
    LATERAL as LATERAL,
    LONGITUDINAL as LONGITUDINAL,
    NORMAL as NORMAL,
    Plane as Plane,
    SPIN as SPIN,
    bears_force as bears_force,
)
from .definitions import (
    in_order as in_order,
)
from .files import (
    AbstractModelFormat as AbstractModelFormat,
    Toml as Toml,
    is_model_file as is_model_file,
    load_model as load_model,
    meant_file as meant_file,
    model_suffixes as model_suffixes,
    model_to_toml as model_to_toml,
    parse_force as parse_force,
    parse_model as parse_model,
)
from .findings import (
    Finding as Finding,
    Path as Path,
    hint as hint,
)
from .forces import (
    AbstractForce as AbstractForce,
    DISSIPATIVE as DISSIPATIVE,
    ForceInput as ForceInput,
    GIVEN as GIVEN,
    GRAVITY as GRAVITY,
    Grip as Grip,
    SPRING as SPRING,
    Sliding as Sliding,
    SpeedInput as SpeedInput,
)
from .joints import (
    Angles as Angles,
    Joint as Joint,
)
from .json_schema import (
    model_schema as model_schema,
)
from .known_names import (
    Vocabulary as Vocabulary,
    angle_names as angle_names,
    vocabulary as vocabulary,
)
from .model import (
    Model as Model,
    ModelBuilder as ModelBuilder,
    NamedMode as NamedMode,
)
from .number_reader import (
    NumberReader as NumberReader,
    angles_of as angles_of,
    number as number,
    numbers as numbers,
    rotation_about as rotation_about,
    rotation_to as rotation_to,
    vector as vector,
)
from .parameter_dependence import (
    Dependence as Dependence,
    dependence as dependence,
)
from .parts.denavit_hartenberg import (
    CONVENTIONS as CONVENTIONS,
    KINDS as KINDS,
    LinkRow as LinkRow,
    serial_arm as serial_arm,
)
from .parts.shapes import (
    BLUE as BLUE,
    DARK as DARK,
    GLASS as GLASS,
    LIGHT as LIGHT,
    METAL as METAL,
    ORANGE as ORANGE,
    RED as RED,
    TEAL as TEAL,
    axle as axle,
    box as box,
    wheel_shapes as wheel_shapes,
)
from .quantities import (
    Direction as Direction,
    Meaning as Meaning,
    NOT_NEGATIVE as NOT_NEGATIVE,
    POSITIVE as POSITIVE,
    Parameter as Parameter,
    Point as Point,
    Quantity as Quantity,
    Reads as Reads,
    Vector3 as Vector3,
    ZERO as ZERO,
    place_rate as place_rate,
)
from .rows import (
    AbstractRow as AbstractRow,
    JointAxis as JointAxis,
    RowWrench as RowWrench,
)
from .scenario import (
    MAX_SAMPLES as MAX_SAMPLES,
    Scenario as Scenario,
    ScenarioFollower as ScenarioFollower,
    ScenarioPlant as ScenarioPlant,
)
from .schema import (
    leaves as leaves,
    unwrapped as unwrapped,
)
from .spanning_tree import (
    frame_numbers as frame_numbers,
    rest_poses as rest_poses,
    topology as topology,
)
from .surfaces import (
    AbstractSurface as AbstractSurface,
    RIM_COLOR as RIM_COLOR,
    TREAD_COLOR as TREAD_COLOR,
    Touch as Touch,
)
from .triangles import (
    Triangles as Triangles,
    cone as cone,
    cylinder as cylinder,
    round_cell as round_cell,
)
