"""The program in a response: its source language, and its verdict from the sandbox."""
