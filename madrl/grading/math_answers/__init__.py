"""The answer to a mathematical problem, found in a response and compared with the reference."""
