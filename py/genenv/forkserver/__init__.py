"""A warm Python that forks, so that a run's processes need not each import torch and vLLM (12 s).

``server`` preloads once and forks on request; ``client`` stands where ``python`` would stand (Ray's
``py_executable``, multiprocessing's spawn executable) and hands over its arguments, environment and
open files. Linux only; ``genenv.fast_start: false`` starts every process plainly instead.
"""
