"""The chapters' exercises, one file a room of `course`; the table says which file states an exercise.

A file is loaded when one of its exercises is asked for: most load torch, and one in plain numpy need not wait for it.
"""

#: file -> the exercises that it states.
FILES = {
    "start": ("matrix_bytes",),
    "devices": ("ran_on", "by_size"),
    "placing": ("on_the_gpu", "fit", "split_product", "darts_on_four"),
    "timing": ("matmul_flops", "right_stopwatch", "break_even", "explain_crossover"),
    "life": ("count_neighbours", "highlife_step", "first_repeat", "diehard_generation"),
    "mapreduce": ("fold", "weighted_mean", "merge_counts", "renamed"),
    "pi": ("standard_error", "darts_for", "share"),
    "training": ("push", "staleness", "synchronous_mean", "loss_below", "taken_once", "restorable"),
    "replicas": ("mean_gradient", "partial_products", "within_limit", "ring_bytes"),
}

#: exercise -> the module that states it.
MODULES = {name: f"{__name__}.{file}" for file, names in FILES.items() for name in names}
