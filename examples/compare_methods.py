"""Compare methods on the committed rows: success far from the goal, with intervals."""

from collections import defaultdict
from pathlib import Path

from metro.analysis.statistics import wilson
from metro.evaluation.records import read_records

ROWS = Path(__file__).parents[1] / "results" / "tworoom.jsonl.gz"

solved = defaultdict(list)
for row in read_records(ROWS):
    setting, query = row["setting"], row["query"]
    if query["goal"] - query["start"] == 75 and setting["step_budget"] >= 150:
        frames = row["frames_to_success"]
        name = f"{setting['method']}, h = {setting['plan_blocks']}"
        family = (row["model"] or {}).get("family", "none")  # random uses no model
        solved[family, name].append(frames is not None and frames <= 150)

for (family, name), hits in sorted(solved.items()):
    if len(hits) >= 100:
        low, high = wilson(sum(hits), len(hits))
        rate = sum(hits) / len(hits)
        print(
            f"{family:5} {name:20} {rate:4.0%} [{low:.0%}, {high:.0%}] n = {len(hits)}"
        )
