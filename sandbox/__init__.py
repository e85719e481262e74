"""The judge: a service that compiles and runs programs against tests, in a sandbox. Imports nothing from madrl."""
