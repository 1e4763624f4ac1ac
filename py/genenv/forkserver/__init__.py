"""A warm Python that forks: the dozen processes of a run need not each import torch and vLLM for
12 s.

``server`` preloads once and forks on request; ``client`` stands where ``python`` would stand (Ray's
``py_executable``, multiprocessing's spawn executable) and hands its arguments, environment and
open files
over. Linux only; ``genenv.fast_start: false`` starts every process plainly instead.
"""
