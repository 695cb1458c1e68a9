"""What machines cost while they are there: on clouds in US dollars, on a batch system in core-hours.

The prices are list prices of one region of each cloud: on demand, Linux, without tax, discounts or free allowances.
They change: each row has the month in which it was read in public listings of those prices, and the cloud's own page,
which is the one that counts. A public address, about half a cent an hour, is not in them.
"""

from dataclasses import dataclass

#: Hours: an evening's cluster found again in the morning, and a month as clouds count it (a twelfth of a year).
NIGHT, MONTH = 12.0, 730.0


@dataclass(frozen=True)
class Price:
    """What one `machine` of a `cloud` costs in US dollars, in a `region`, as read on a `date`; `source` is its page.

    `hour`: an hour of the machine, idle or not. `disk`: a GB of its disk for a month. `egress`: a GB that leaves the
    cloud for the internet; what comes in is free. `vcpus` are hardware threads; `gpu` is "" where there is none.
    """

    cloud: str
    machine: str
    vcpus: int
    memory_gb: int
    gpu: str
    hour: float
    disk: float
    egress: float
    region: str
    date: str
    source: str


def _rows(cloud, region, source, disk, egress, *machines):
    date = "2026-04"
    return tuple(
        Price(cloud, name, vcpus, memory, gpu, hour, disk, egress, region, date, source)
        for name, vcpus, memory, gpu, hour in machines
    )


#: One machine to try things on, one of four threads, and the cheapest usual one with a GPU, on each cloud.
PRICES = (
    *_rows(
        *("aws", "us-east-1", "https://aws.amazon.com/ec2/pricing/on-demand/", 0.08, 0.09),
        ("m6i.large", 2, 8, "", 0.096),
        ("m6i.xlarge", 4, 16, "", 0.192),
        ("g4dn.xlarge", 4, 16, "T4", 0.526),
    ),
    *_rows(
        *("gcp", "us-central1", "https://cloud.google.com/compute/all-pricing", 0.10, 0.12),
        ("e2-standard-2", 2, 8, "", 0.067),
        ("e2-standard-4", 4, 16, "", 0.134),
        ("n1-standard-4 + T4", 4, 15, "T4", 0.54),
    ),
    *_rows(
        *("azure", "eastus", "https://azure.microsoft.com/pricing/details/virtual-machines/linux/", 0.075, 0.087),
        ("Standard_D2s_v5", 2, 8, "", 0.096),
        ("Standard_D4s_v5", 4, 16, "", 0.192),
        ("Standard_NC4as_T4_v3", 4, 28, "T4", 0.526),
    ),
)


def price(machine: str) -> Price:
    """Return the `Price` of the machine of that name; raises ValueError where `PRICES` has none."""
    for listed in PRICES:
        if listed.machine == machine:
            return listed
    choices = ", ".join(f"{listed.machine!r} ({listed.cloud})" for listed in PRICES)
    raise ValueError(f"price({machine!r}): known are {choices}. Use one of these, or give cost(…) a Price of your own.")


@dataclass(frozen=True, repr=False)
class Cost:
    """US dollars of `machines` of one `price` for some `hours`, with `disk_gb` each, and `egress_gb` sent out in all.

    What a cluster costs that nobody closed is `left_running(hours)`; shown, it is a table with a night and a month.
    """

    price: Price
    machines: int
    hours: float
    disk_gb: float
    egress_gb: float

    @property
    def compute(self) -> float:
        """US dollars of the machines' hours."""
        return self.machines * self.hours * self.price.hour

    @property
    def disk(self) -> float:
        """US dollars of the machines' disks, which are billed by the second too."""
        return self.machines * self.disk_gb * self.price.disk * self.hours / MONTH

    @property
    def egress(self) -> float:
        """US dollars of what was sent out."""
        return self.egress_gb * self.price.egress

    @property
    def total(self) -> float:
        """US dollars of all three."""
        return self.compute + self.disk + self.egress

    def left_running(self, hours: float) -> float:
        """Return the US dollars that come on top when nobody closes the cluster for so many `hours` more."""
        return (self.compute + self.disk) / self.hours * hours

    def __repr__(self) -> str:
        price = self.price
        rows = (
            (f"{self.machines} × {self.hours:.4g} h at ${price.hour:g} an hour", self.compute),
            (f"{self.machines} × {self.disk_gb:g} GB of disk", self.disk),
            (f"{self.egress_gb:g} GB sent out at ${price.egress:g} a GB", self.egress),
            ("together", self.total),
            (f"if nobody closes it for a night ({NIGHT:g} h), on top", self.left_running(NIGHT)),
            (f"… for a month ({MONTH:g} h), on top", self.left_running(MONTH)),
        )
        width = max(len(purpose) for purpose, _ in rows)
        title = f"{self.machines} × {price.machine} ({price.cloud} {price.region}, list price of {price.date})"
        return "\n".join([title, *(f"  {purpose:<{width}}  ${dollars:>9,.2f}" for purpose, dollars in rows)])


def cost(machine: str | Price, machines: int, hours: float, *, disk_gb: float = 30.0, egress_gb: float = 0.0) -> Cost:
    """Return the `Cost` of that many machines for that many hours.

    `machine` is a name in `PRICES`, or a `Price` of your own (another region, a discount). Raises ValueError for a
    machine that has no price, no machines, no hours, or less than 0 GB.

    >>> cost("m6i.xlarge", 4, 2.0).compute
    1.536
    """
    listed = machine if isinstance(machine, Price) else price(machine)
    for name, value in (("disk_gb", disk_gb), ("egress_gb", egress_gb)):
        if not 0 <= value < float("inf"):
            raise ValueError(f"cost({name}={value}): give a number of GB, 0 or more.")
    if machines < 1:
        raise ValueError(f"cost(machines={machines}): give a whole number, 1 or more.")
    if not 0 < hours < float("inf"):
        raise ValueError(f"cost(hours={hours}): give a number above 0, such as 0.5 for half an hour.")
    return Cost(listed, machines, hours, disk_gb, egress_gb)


@dataclass(frozen=True, repr=False)
class CoreHours:
    """What jobs take from a batch system's `budget` of core-hours: `jobs` of `nodes` × `cores`, for `hours` each.

    A batch system bills cores by the time that they were held, used or not (Slurm: CPUTimeRAW of `sacct`); a job that
    nobody ends is ended by its walltime, so forgetting costs `walltime` at most.
    """

    nodes: int
    cores: int
    hours: float
    walltime: float
    jobs: int
    budget: float

    @property
    def node_hours(self) -> float:
        """Nodes times hours, of all jobs."""
        return self.jobs * self.nodes * self.hours

    @property
    def core_hours(self) -> float:
        """Cores times hours, of all jobs."""
        return self.node_hours * self.cores

    @property
    def at_most(self) -> float:
        """Core-hours when every job is left until its walltime ends it."""
        return self.jobs * self.nodes * self.cores * self.walltime

    def __repr__(self) -> str:
        title = f"{self.jobs} × {self.nodes} nodes of {self.cores} cores, {self.hours:g} h of {self.walltime:g} h asked"
        used = f"  {self.node_hours:,.1f} node-hours, {self.core_hours:,.1f} core-hours"
        share = f" of {self.budget:,.0f}: {self.core_hours / self.budget:.1%}"
        worst = f"  left until the walltime ends them: {self.at_most:,.1f} core-hours, {self.at_most / self.budget:.1%}"
        return f"{title}\n{used}{share}\n{worst}"


def core_hours(
    nodes: int, cores: int, hours: float, *, budget: float, walltime: float | None = None, jobs: int = 1
) -> CoreHours:
    """Return the `CoreHours` of `jobs` jobs on `nodes` whole nodes of `cores` each, for `hours` of `walltime` hours.

    `walltime`: what the job asks for; left out, `hours`. Raises ValueError for a number that is not above 0, and for
    more hours than the walltime, at which the job would be ended.

    >>> core_hours(2, 16, 1.5, budget=1000).core_hours
    48.0
    """
    limit = hours if walltime is None else walltime
    settings = {"nodes": nodes, "cores": cores, "hours": hours, "budget": budget, "walltime": limit, "jobs": jobs}
    for name, value in settings.items():
        if not 0 < value < float("inf"):
            raise ValueError(f"core_hours({name}={value}): give a number above 0.")
    if hours > limit:
        raise ValueError(
            f"core_hours(hours={hours}, walltime={limit}): the job is ended at its walltime; ask for {hours} or more."
        )
    return CoreHours(nodes, cores, hours, limit, jobs, budget)
