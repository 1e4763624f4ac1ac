"""The Python side of genenv: the only code that knows veRL, vLLM and Ray."""

__version__ = "0.1.0"
