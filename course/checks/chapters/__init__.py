"""The chapters' exercises, one file a room of `course`; the table says which file states an exercise.

A file is loaded when one of its exercises is asked for: most load torch, and one in plain numpy need not wait for it.
"""

#: file -> the exercises that it states.
FILES = {
    "ch00_start": ("matrix_bytes",),
    "ch01_devices": ("ran_on", "by_size"),
    "ch01_placing": ("on_the_gpu", "fit", "split_product", "darts_on_four"),
    "ch02_timing": ("matmul_flops", "right_stopwatch", "break_even", "explain_crossover"),
    "ch03_life": ("count_neighbours", "highlife_step", "first_repeat", "diehard_generation"),
    "ch04_mapreduce": ("fold", "weighted_mean", "merge_counts", "renamed"),
    "ch05_pi": ("standard_error", "darts_for", "share"),
    "ch06_training": ("push", "staleness", "synchronous_mean", "loss_below", "taken_once", "restorable"),
    "ch07_replicas": ("mean_gradient", "partial_products", "within_limit", "ring_bytes"),
}

#: exercise -> the module that states it.
MODULES = {name: f"{__name__}.{file}" for file, names in FILES.items() for name in names}
