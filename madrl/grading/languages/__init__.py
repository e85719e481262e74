"""The natural language of a response."""
