"""What training starts from: a model that answers validly and reaches every category."""
