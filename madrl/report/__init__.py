"""From run folders to the tables, figures and pages that people read."""
