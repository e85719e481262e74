"""From a model's sampled responses to the paper's numbers, tables and figures."""
