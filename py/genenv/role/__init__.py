"""A role, agent or environment: one veRL trainer in a process of its own, driven by the loop."""
