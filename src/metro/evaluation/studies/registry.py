"""All studies, in the order of the report."""

from metro.evaluation.studies.residual import RESIDUAL
from metro.evaluation.studies.study import Study

STUDIES: tuple[Study, ...] = (RESIDUAL,)
