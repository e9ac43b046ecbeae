"""From numbers to pages: tables, plots, HTML, drawings."""
