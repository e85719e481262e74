"""From run folders to the tables, figures and pages that people read."""

from madrl.extras import require

require("report")
