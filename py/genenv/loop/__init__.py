"""The co-evolution loop: epochs over two roles, state (pool, ledger, phase, random states), and
its files."""
