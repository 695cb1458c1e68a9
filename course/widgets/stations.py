"""The chapters as stations of one story: what each asks, and which guesses and exercises of a reader belong to it."""

from dataclasses import dataclass

#: The three questions that every line of the course answers.
WHERE, MOVES, WAITS = "where?", "what moves?", "who waits?"


@dataclass(frozen=True)
class Station:
    """A chapter: the `name` of its file, `title`, the `question` it opens with, and which of the three it `asks`.

    `bets` are named as in `Predict`, without the chapter's digits; `exercises` as `check` knows them.
    """

    name: str
    title: str
    question: str
    asks: tuple[str, ...]
    bets: tuple[str, ...]
    exercises: tuple[str, ...]


#: In reading order; a test compares them with the chapters' sources.
STATIONS = (
    Station(
        "00_start_here",
        "Start here",
        "Which machine are you on, and which chapters will be slow on it?",
        (WHERE, MOVES, WAITS),
        ("matrix", "one core"),
        ("matrix_bytes",),
    ),
    Station(
        "01_devices",
        "Devices, names, placement",
        "Which of these six ops ran on the GPU?",
        (WHERE,),
        ("backward", "bytes", "six ops", "gradient", "alone"),
        ("on_the_gpu", "ran_on", "by_size", "fit", "split_product", "darts_on_four"),
    ),
    Station(
        "02_matmul_timing",
        "CPU and GPU: timing a matrix product",
        "How big must a matrix be before the GPU wins?",
        (MOVES,),
        ("size", "twice", "watch", "T4 size", "streams"),
        ("matmul_flops", "right_stopwatch", "break_even", "explain_crossover"),
    ),
    Station(
        "03_game_of_life",
        "Your own op: the Game of Life",
        "How many cells a second is a three-line rule, and how many could it be?",
        (WHERE, MOVES),
        ("glider", "soup", "rungs"),
        ("count_neighbours", "highlife_step", "first_repeat", "diehard_generation"),
    ),
    Station(
        "04_mapreduce_mean",
        "Map, reduce and the mean",
        "Two means, average them: right?",
        (WHERE, MOVES, WAITS),
        ("mean", "rungs", "born there"),
        ("fold", "merge_counts", "renamed", "weighted_mean"),
    ),
    Station(
        "05_distributed_pi",
        "Pi on many processes",
        "A hundred times the samples: how many more digits?",
        (WHERE,),
        ("decimals", "fourth GPU", "rungs", "even darts"),
        ("standard_error", "darts_for", "share"),
    ),
    Station(
        "06_async_regression",
        "Many workers, one set of parameters",
        "Three workers don't wait for each other: is the answer still right?",
        (WAITS,),
        ("how far off", "who waits", "missing", "degraded"),
        ("push", "staleness", "synchronous_mean", "loss_below", "taken_once", "restorable"),
    ),
    Station(
        "07_replicas_mnist",
        "Replicas: one network, many copies",
        "A thousand processes average 318 kB of gradients with no server: how many kB does each of them send?",
        (WHERE, MOVES, WAITS),
        ("sent", "two GPUs", "digits", "visible", "one server", "most"),
        ("mean_gradient", "partial_products", "within_limit", "ring_bytes", "ensemble"),
    ),
    Station(
        "08_serving",
        "A model that others call",
        "A server takes 1 ms for a request, and 800 come every second: how long do the unluckiest 1 in 100 wait?",
        (WAITS,),
        ("unluckiest", "rate", "search", "one in ten", "queues", "failed"),
        ("mean_inside", "percentile_of", "batches", "asked"),
    ),
    Station(
        "09_beyond_one_machine",
        "Beyond one machine",
        "Two workers wait for each other, one of them far away: from which distance is one alone quicker?",
        (MOVES, WAITS),
        ("too far", "digits", "curve", "ring", "cut", "night"),
        ("gradients_a_second", "worth_it", "quicker", "counted_out"),
    ),
)
