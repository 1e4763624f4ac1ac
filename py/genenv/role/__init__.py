"""A role (agent or environment): one veRL trainer in a driver process of its own, driven by the
loop."""
