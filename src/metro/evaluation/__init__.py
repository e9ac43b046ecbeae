"""What is measured: benchmarks, and later queries, runs, rows and reports."""
