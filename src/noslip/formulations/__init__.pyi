"""Names that other packages may use, in the order in which they are needed."""

from .equations import (
    Equations as Equations,
)
from .boltzmann_hamel import (
    hamel_term as hamel_term,
    turning_term as turning_term,
    jointwise_shares as jointwise_shares,
    recognize as recognize,
)
from .derivation import (
    formulation_of as formulation_of,
    known_formulations as known_formulations,
    InertiaCheck as InertiaCheck,
    derive as derive,
)
from .desantis import (
    body_jacobian as body_jacobian,
    mass_and_spin as mass_and_spin,
)
from .generalized_forces import (
    applied_forces as applied_forces,
)
from .boltzmann_hamel import (
    acceleration_energy as acceleration_energy,
)
from .tree_dynamics import (
    joint_wrenches as joint_wrenches,
    unknown_wrenches as unknown_wrenches,
    at_mass_centers as at_mass_centers,
    center_wrenches as center_wrenches,
    inverse_dynamics as inverse_dynamics,
    kinetic_energy as kinetic_energy,
    mass_matrix as mass_matrix,
    rotor_forces as rotor_forces,
    row_rates as row_rates,
    unit_speed_twists as unit_speed_twists,
)
from .multipliers import (
    chaplygin_form as chaplygin_form,
    curl_force as curl_force,
)
