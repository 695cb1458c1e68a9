"""What lab 09's cases are in words: how a job is called."""


def of_job(steps, every, first):
    """Say the arguments of a job."""
    return f"folder, {steps}, {every}, {first}, step"
