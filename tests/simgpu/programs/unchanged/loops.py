"""Programs about the training loop itself: precision, accumulation, streams, loaders, memory, defaults."""

import gc

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils import data as feeding

from tests.simgpu.programs.harness import drawn, gpu, program, train


class Squares(feeding.Dataset):
    """Numbers and their squares."""

    def __len__(self):
        return 10

    def __getitem__(self, index):
        return torch.tensor([index / 10]), torch.tensor([index**2 / 100])


class Counting(feeding.IterableDataset):
    """Numbers, of which each worker counts its share."""

    def __iter__(self):
        worker = feeding.get_worker_info()
        start, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        return iter(range(start, 12, step))


def small():
    """Return a network of two layers, drawn on the CPU."""
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))


@program
def everything_on_the_default_device():
    torch.set_default_device(gpu())
    try:
        x = torch.linspace(-1, 1, 12).view(4, 3)
        weight = torch.full((3, 1), 0.5, requires_grad=True)
        mask = torch.ones(4, 4).tril().bool()
        places = torch.arange(4).unsqueeze(1).expand(4, 2)
        loss = (torch.where(mask, x @ x.t(), torch.tensor(0.0)).gather(1, places) @ torch.eye(2) + (x @ weight)).sum()
        loss.backward()
        return loss, weight.grad, torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    finally:
        torch.set_default_device(None)


@program
def a_model_is_made_inside_a_device_block():
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = nn.Sequential(nn.Conv1d(2, 3, 3), nn.BatchNorm1d(3), nn.Flatten(), nn.Linear(12, 2))
        x, mask = torch.arange(24.0).view(2, 2, 6) / 24, torch.zeros(2, 2)
    for p in model.parameters():
        nn.init.constant_(p, 0.1)
    return train(model, lambda m: (m(x) - mask).square().mean())


@program
def whatever_accelerator_there_is():
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
    device = accelerator.type if accelerator is not None else "cpu"
    model, x = small().to(device), drawn(4, 3).to(device)
    losses = train(model, lambda m: m(x).square().mean())
    if device != "cpu":
        torch.accelerator.synchronize()
        assert torch.accelerator.current_device_index() == 0 and torch.accelerator.device_count() >= 1
        assert torch.get_device_module(device) is torch.cuda
    return losses


@program
def accumulated_over_batches_and_clipped_by_value():
    device = gpu()
    model, loader = nn.Linear(1, 1).to(device), feeding.DataLoader(Squares(), batch_size=2)
    optimiser, results = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), []
    for index, (x, y) in enumerate(loader):
        loss = F.mse_loss(model(x.to(device)), y.to(device)) / 2
        loss.backward()
        if (index + 1) % 2 == 0 or index + 1 == len(loader):
            nn.utils.clip_grad_value_(model.parameters(), 0.2)
            results.append(nn.utils.get_total_norm([p.grad for p in model.parameters()]))
            optimiser.step()
            optimiser.zero_grad(set_to_none=False)
    return results, model.weight


@program
def averages_of_the_weights_by_hand():
    device = gpu()
    model, x = small().to(device), drawn(4, 3, device=device)
    shadow = {name: p.detach().clone() for name, p in model.named_parameters()}
    for _ in range(3):
        train(model, lambda m: m(x).square().mean(), 1)
        with torch.no_grad():
            for name, p in model.named_parameters():
                shadow[name].mul_(0.9).add_(p, alpha=0.1)
    weights = {name: p.data for name, p in model.named_parameters()}
    for name, p in model.named_parameters():
        p.data = shadow[name]
    averaged = model(x).detach()
    for name, p in model.named_parameters():
        p.data = weights[name]
    return averaged, model(x)


@program
def pinned_batches_from_workers():
    device = gpu()
    loader = feeding.DataLoader(
        Squares(), batch_size=4, num_workers=1, pin_memory=torch.cuda.is_available(), drop_last=True,
        multiprocessing_context="spawn", prefetch_factor=2,
    )  # fmt: skip
    model, results = nn.Linear(1, 1).to(device), []
    for x, y in loader:
        assert x.is_pinned() == torch.cuda.is_available()
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        results.append(F.l1_loss(model(x), y).item())
    return results


@program
def samplers_and_splits():
    device = gpu()
    chance = torch.Generator().manual_seed(1)
    first, second = feeding.random_split(Squares(), [0.7, 0.3], generator=chance)
    weighted = feeding.WeightedRandomSampler(torch.arange(7.0), 6, generator=chance)
    batches = feeding.BatchSampler(feeding.SequentialSampler(second), 2, drop_last=False)
    joined = feeding.ConcatDataset([feeding.Subset(Squares(), [1, 2]), second])
    results = [x.to(device).sum() for x, _ in feeding.DataLoader(first, sampler=weighted, batch_size=3)]
    results += [y.to(device).mean() for _, y in feeding.DataLoader(second, batch_sampler=batches)]
    results += [x.to(device).max() for x, _ in feeding.DataLoader(joined, batch_size=5)]
    return results, sum(n.to(device).sum() for n in feeding.DataLoader(Counting(), batch_size=5))


@program
def batches_of_a_dataset_that_lies_on_the_device():
    device = gpu()
    x, y = drawn(9, 3).to(device), torch.arange(9).to(device)
    loader = feeding.DataLoader(feeding.TensorDataset(x, y), batch_size=4, shuffle=True)
    assert all(a.device == x.device and b.device == y.device for a, b in loader)
    return sorted(torch.cat([b for _, b in loader]).tolist()), torch.cat([a for a, _ in loader]).sum()


@program
def batches_are_fetched_ahead_on_a_stream():
    device = gpu()

    class Ahead:
        def __init__(self, loader):
            self.loader, self.stream = iter(loader), torch.cuda.Stream() if device == "cuda" else None
            self.fetch()

        def fetch(self):
            self.ready = next(self.loader, None)
            if self.ready is not None and self.stream is not None:
                with torch.cuda.stream(self.stream):
                    self.ready = [part.pin_memory().cuda(non_blocking=True) for part in self.ready]

        def next(self):
            if self.stream is not None:
                torch.cuda.current_stream().wait_stream(self.stream)
            batch = self.ready
            if batch is not None and self.stream is not None:
                for part in batch:
                    part.record_stream(torch.cuda.current_stream())
            self.fetch()
            return batch

    ahead, results = Ahead(feeding.DataLoader(Squares(), batch_size=5)), []
    while (batch := ahead.next()) is not None:
        results.append((batch[0] * batch[1]).sum())
    return results


@program
def two_streams_and_their_events():
    device, x = gpu(), torch.arange(16.0).view(4, 4)
    if device == "cpu":
        return (x @ x).sum() + (x + x).sum(), True
    x, first, second = x.to(device), torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    first.wait_stream(torch.cuda.current_stream())
    start.record()
    with torch.cuda.stream(first):
        product = (x @ x).sum()
        recorded = first.record_event()
    with torch.cuda.stream(second):
        second.wait_event(recorded)
        total = product + (x + x).sum()
        end.record()
    end.synchronize()
    torch.cuda.current_stream().wait_event(end)
    return total, start.elapsed_time(end) > 0 and end.query() and first != second


@program
def numbers_that_are_not_finite_skip_a_step():
    device = gpu()
    model = nn.Linear(3, 1).to(device)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler(device, init_scale=4.0, growth_interval=1, enabled=True)
    results, before = [], model.weight.detach().clone()
    for factor in (float("inf"), 1.0):
        optimiser.zero_grad()
        scaler.scale((model(torch.ones(2, 3, device=device)) * factor).sum()).backward()
        scaler.unscale_(optimiser)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimiser)
        scaler.update()
        results += [scaler.get_scale(), torch.equal(before, model.weight)]
    return results, scaler.state_dict()["scale"]


@program
def too_large_a_batch_is_halved():
    device, rows, tried = gpu(), 2**36, []
    while True:
        try:
            if device == "cpu" and rows > 2**20:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            ones = torch.ones(rows, 1, device=device)
        except torch.OutOfMemoryError as error:
            tried.append("out of memory" in str(error))
            rows //= 2**16
            gc.collect()
            torch.cuda.empty_cache()
        else:
            return tried, ones.sum() / rows


@program
def nothing_is_remembered_where_no_gradient_is_asked():
    device = gpu()
    model, x = small().to(device), drawn(4, 3, device=device)
    with torch.inference_mode():
        quick = model(x)
    with torch.no_grad():
        still = model(x)
        with torch.enable_grad():
            again = model(x)
    with torch.set_grad_enabled(False):
        other = model(x)
    kinds = [quick.is_inference(), still.requires_grad, again.requires_grad, other.requires_grad]
    return quick, again, kinds, torch.is_grad_enabled()


@program
def memory_is_told_while_training():
    device = gpu()
    model, x = small().to(device), drawn(64, 3, device=device)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    losses = train(model, lambda m: m(x).square().mean())
    if device == "cuda":
        free, total = torch.cuda.mem_get_info()
        assert torch.cuda.max_memory_allocated() > before > 0 and free < total
        assert (
            "allocated" in torch.cuda.memory_summary().lower()
            and torch.cuda.memory_stats()["allocation.all.current"] > 0
        )
        assert torch.cuda.get_device_properties(0).total_memory == total and torch.cuda.get_device_name()
    return losses


@program
def the_best_model_is_kept_and_training_stops():
    device = gpu()
    model, x, best, waited = small().to(device), drawn(4, 3, device=device), float("inf"), 0
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    plan = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, factor=0.5, patience=0)
    for epoch in range(6):
        loss = (model(x) - 1).pow(2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        plan.step(loss.item() + epoch % 2)
        if loss < best and not epoch % 2:
            best, waited, weights = loss.item(), 0, {k: v.cpu().clone() for k, v in model.state_dict().items()}
        else:
            waited += 1
            if waited > 2:
                break
    model.load_state_dict(weights)
    return best, model(x), plan.get_last_lr()
