"""What is measured: benchmarks, queries, runs, rows, studies and reports."""
