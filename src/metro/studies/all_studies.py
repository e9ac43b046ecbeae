"""All studies, in the order of the report."""

from metro.errors import BenchmarkError
from metro.report.study import Study
from metro.studies.corpus_size.show_corpus_size import CORPUS_SIZE
from metro.studies.learned_reach.show_learned_reach import LEARNED_REACH
from metro.studies.micro_planner.show_micro_planner import MICRO_PLANNER
from metro.studies.offline_cost import OFFLINE_COST
from metro.studies.paired import ORACLE, RE_ENTRY
from metro.studies.residual.show_residual import RESIDUAL
from metro.studies.saturation import SATURATION

# Listed by hand, not discovered: the order is that of the report.
STUDIES: tuple[Study, ...] = (
    RESIDUAL,
    SATURATION,
    RE_ENTRY,
    ORACLE,
    CORPUS_SIZE,
    MICRO_PLANNER,
    LEARNED_REACH,
    OFFLINE_COST,
)


def find_study(name: str) -> Study:
    """Return a study by its name."""
    for study in STUDIES:
        if study.name == name:
            return study
    raise BenchmarkError(
        f"There is no study {name!r}. There are "
        f"{', '.join(study.name for study in STUDIES)}."
    )
