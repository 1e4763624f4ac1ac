"""Warm vLLM engines for generation and evaluation, without Ray or veRL.

``sessions`` holds the jobs of the control plane and the open sessions, ``handle`` a session's end
of its driver process, ``driver`` that process, ``engine`` vLLM's AsyncLLM inside it.
"""
