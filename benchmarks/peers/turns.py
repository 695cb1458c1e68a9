"""Forms that take turns, so that a busy moment of the machine hits all alike."""

import statistics


class Turns:
    """Rates of several forms, `repeats` runs each, in turns: `median(name)`, and `ratio(name, other)` run by run."""

    def __init__(self, forms, repeats):
        self._runs = {name: [] for name in forms}
        for repeat in range(repeats):
            names = list(forms)
            for name in names[repeat % len(names) :] + names[: repeat % len(names)]:  # nobody is always first
                self._runs[name].append(forms[name]())

    def median(self, name):
        """Return the median of the form's runs."""
        return statistics.median(self._runs[name])

    def ratio(self, name, other):
        """Return the median of the ratios of runs that stood next to each other."""
        return statistics.median(a / b for a, b in zip(self._runs[name], self._runs[other], strict=True))
