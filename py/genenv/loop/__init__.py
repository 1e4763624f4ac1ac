"""The co-evolution loop: epochs over two roles, its state (pool, ledger, draws) and its files."""
