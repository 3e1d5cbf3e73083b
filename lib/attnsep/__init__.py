"""Softmax versus linear attention: the library behind the executable companion to arXiv 2310.11685."""

__version__ = "0.1.0"
