"""The torch engine: measures how PyTorch moves tensors, as the compiled engines measure everything else.

A program of its own, `python -m linkscope.torch_engine`, with the commands and records of linkscope-engine (schema/).
It needs PyTorch to measure, and nothing but Python to say that PyTorch is missing.
"""
