"""Names that other packages may use, in the order in which they are needed."""

from .animate import (
    check_film_file as check_film_file,
    check_rate as check_rate,
    recorded as recorded,
)
from .displays import (
    comparison_table as comparison_table,
)
from .equations.blocks import (
    Document as Document,
)
from .equations.equations_text import (
    equations_document as equations_document,
)
from .equations.formats import (
    EquationDocument as EquationDocument,
)
from .equations.linear import (
    linear_equations as linear_equations,
)
from .json_output import (
    json_text as json_text,
)
from .knobs import (
    Knob as Knob,
    parameter_knobs as parameter_knobs,
    ranged as ranged,
)
from .notebook import (
    equations_html as equations_html,
    install_displays as install_displays,
)
from .papers import (
    papers_text as papers_text,
)
from .plots.catalog import (
    FIGURES as FIGURES,
)
from .plots.files import (
    check_figure_file as check_figure_file,
    save_figure as save_figure,
)
from .plots.paths import (
    ground_plane as ground_plane,
)
from .report.answers import (
    GROUND as GROUND,
    error_size as error_size,
    tracking as tracking,
)
from .report.elements import (
    Html as Html,
    MARKS as MARKS,
    Verdict as Verdict,
    number_text as number_text,
    text as text,
)
from .report.report import (
    report_html as report_html,
)
from .report.sweep_report import (
    write_sweep_report as write_sweep_report,
)
from .run_folder import (
    FORMATS as FORMATS,
    REPORT as REPORT,
    REPORT_PACKAGES as REPORT_PACKAGES,
    check_target as check_target,
    free_folder as free_folder,
    summary as summary,
    summary_text as summary_text,
)
from .sweep_results import (
    SweepResults as SweepResults,
)
from .units import (
    raised as raised,
    unit_text as unit_text,
)
