"""Names that other packages may use, in the order in which they are needed."""

from .model import (
    angle_joints as angle_joints,
    in_angles as in_angles,
    Model as Model,
    ModelBuilder as ModelBuilder,
    NamedMode as NamedMode,
    MAX_SAMPLES as MAX_SAMPLES,
    Scenario as Scenario,
    ScenarioFollower as ScenarioFollower,
    ScenarioPlant as ScenarioPlant,
    frame_numbers as frame_numbers,
    rest_poses as rest_poses,
    topology as topology,
)
from .bodies import (
    Body as Body,
    Placement as Placement,
    WORLD as WORLD,
    Triangles as Triangles,
    cone as cone,
    cylinder as cylinder,
    round_cell as round_cell,
)
from .checks import (
    check_model as check_model,
)
from .expression_checks import (
    is_undefined as is_undefined,
    texts_of as texts_of,
    LARGEST as LARGEST,
    SMALLEST as SMALLEST,
    DimensionError as DimensionError,
    dimension as dimension,
    Vocabulary as Vocabulary,
    angle_names as angle_names,
    vocabulary as vocabulary,
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
from .joint_contacts import (
    joint_elements as joint_elements,
)
from .rows import (
    in_order as in_order,
    Dependence as Dependence,
    dependence as dependence,
    AbstractRow as AbstractRow,
    JointAxis as JointAxis,
    RowWrench as RowWrench,
)
from .catalogs import (
    add_catalog as add_catalog,
    load as load,
)
from .files import (
    AbstractModelFormat as AbstractModelFormat,
    Toml as Toml,
    load_model as load_model,
    model_to_toml as model_to_toml,
    parse_force as parse_force,
    parse_model as parse_model,
    model_schema as model_schema,
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
from .quantities import (
    NumberReader as NumberReader,
    angles_of as angles_of,
    number as number,
    numbers as numbers,
    rotation_about as rotation_about,
    rotation_to as rotation_to,
    vector as vector,
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
from .parts.arms import (
    CONVENTIONS as CONVENTIONS,
    KINDS as KINDS,
    LinkRow as LinkRow,
    serial_arm as serial_arm,
)
from .parts.part import (
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
from .schema import (
    leaves as leaves,
    unwrapped as unwrapped,
)
from .surfaces import (
    AbstractSurface as AbstractSurface,
    RIM_COLOR as RIM_COLOR,
    TREAD_COLOR as TREAD_COLOR,
    Touch as Touch,
)
