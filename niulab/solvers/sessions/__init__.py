"""Sessions of many rounds: laws, ruin, drawdown and metrics, exact on the lattice of the nets."""
