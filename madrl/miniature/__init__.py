"""Stand-ins for the three real tasks on a machine without a GPU: problems that a model of a few hundred thousand
parameters can learn, in the schema of the real ones, with a worked solution in every category."""
