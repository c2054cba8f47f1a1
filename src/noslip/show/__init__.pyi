"""Names that other packages may use, in the order in which they are needed."""

from .animate import (
    FilmFile as FilmFile,
    recorded as recorded,
)
from .equations.documents import (
    equations_document as equations_document,
    EquationDocument as EquationDocument,
)
from .run_folder import (
    json_text as json_text,
    REPORT as REPORT,
    REPORT_PACKAGES as REPORT_PACKAGES,
    RunSummary as RunSummary,
)
from .explore import (
    Knob as Knob,
)
from .notebook import (
    equations_html as equations_html,
    install_displays as install_displays,
)
from .papers import (
    papers_text as papers_text,
)
from .plots.plotting import (
    FIGURES as FIGURES,
)
from .plots.painting import (
    FigureFile as FigureFile,
)
from .plots.paths import (
    ground_plane as ground_plane,
)
from .report.sections import (
    ground_verdict as ground_verdict,
    run_verdicts as run_verdicts,
)
from .report.elements import (
    Verdict as Verdict,
    number_text as number_text,
)
from .report.sections import (
    report_html as report_html,
)
from .report.study_reports import (
    write_sweep_report as write_sweep_report,
)
from .headlines import (
    unit_text as unit_text,
)
from .sweep_results import (
    SweepResults as SweepResults,
)
