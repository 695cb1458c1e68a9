"""Legal inputs of labs, as Hypothesis strategies: a package of its own, so that it is loaded by the check that asks."""
