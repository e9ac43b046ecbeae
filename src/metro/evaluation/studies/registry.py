"""All studies, in the order of the report."""

from metro.errors import BenchmarkError
from metro.evaluation.studies.corpus_size import CORPUS_SIZE
from metro.evaluation.studies.duels import ORACLE, RE_ENTRY
from metro.evaluation.studies.micro_planner import MICRO_PLANNER
from metro.evaluation.studies.offline_cost import OFFLINE_COST
from metro.evaluation.studies.residual import RESIDUAL
from metro.evaluation.studies.saturation import SATURATION
from metro.evaluation.studies.study import Study

STUDIES: tuple[Study, ...] = (
    RESIDUAL,
    SATURATION,
    RE_ENTRY,
    ORACLE,
    CORPUS_SIZE,
    MICRO_PLANNER,
    OFFLINE_COST,
)


def find_study(name: str) -> Study:
    """Return a study by its name.

    Raises:
        BenchmarkError: If nobody knows it.
    """
    for study in STUDIES:
        if study.name == name:
            return study
    raise BenchmarkError(
        f"There is no study {name!r}. There are "
        f"{', '.join(study.name for study in STUDIES)}."
    )
