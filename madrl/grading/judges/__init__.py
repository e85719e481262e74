"""Models as judges: an LLM behind an API, a sequence-classification model in a process of its own or served."""
