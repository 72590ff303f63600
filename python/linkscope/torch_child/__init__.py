"""The torch child: what only Python can do for the engine, which starts one beside itself and measures.

A program of its own, `python -m linkscope.torch_child SOCKET`: it takes commands from the engine that started it
(engine/backend/python): makes tensors and carriers ready, runs them so often with stamps of its own, and checks what
arrived. It needs PyTorch for that, and nothing but Python to say that PyTorch is missing.
"""
