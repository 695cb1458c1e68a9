"""Programs of numerical mathematics and statistics: no network in them."""

import torch
from torch import distributions
from torch.nn import functional as F

from tests.simgpu.programs.harness import drawn, gpu, program


@program
def ranks_of_pages():
    device = gpu()
    links = (torch.rand(8, 8) < 0.3).float().to(device)
    out = links.sum(1, keepdim=True)
    move = torch.where(out > 0, links / out.clamp(min=1), torch.full_like(links, 1 / 8)).t()
    rank = torch.full((8,), 1 / 8, device=device)
    while True:
        new = 0.85 * move.mv(rank) + 0.15 / 8
        if torch.dist(new, rank, 1).item() < 1e-6:
            return new
        rank = new


@program
def means_of_clusters():
    device = gpu()
    points = torch.cat([drawn(10, 2) + 4 * k for k in range(3)]).to(device)
    centres = points[[0, 10, 20]].clone()
    for _ in range(20):
        label = torch.cdist(points, centres).argmin(1)
        new = torch.zeros_like(centres).index_add_(0, label, points)
        new /= torch.bincount(label, minlength=3).clamp(min=1).unsqueeze(1)
        if torch.allclose(new, centres):
            break
        centres = new
    spread = torch.zeros(3, device=device).scatter_reduce_(0, label, (points - centres[label]).norm(dim=1), "amax")
    return centres, label, spread


@program
def life_on_a_torus():
    device = gpu()
    board = (torch.rand(12, 12) < 0.4).to(device=device, dtype=torch.uint8)
    kernel = torch.tensor([[1.0, 1, 1], [1, 0, 1], [1, 1, 1]], device=device)[None, None]
    for _ in range(5):
        around = F.conv2d(F.pad(board[None, None].float(), (1, 1, 1, 1), mode="circular"), kernel)[0, 0].int()
        board = ((around == 3) | ((around == 2) & board.bool())).byte()
    return board, board.sum(dtype=torch.int32)


@program
def mixture_of_normals_by_expectation():
    device = gpu()
    x = torch.cat([drawn(20), drawn(20) * 0.5 + 4]).to(device)
    weight, mean, std = (torch.tensor(v, device=device) for v in ([0.5, 0.5], [-1.0, 5.0], [1.0, 1.0]))
    for _ in range(10):
        logs = weight.log() + distributions.Normal(mean, std).log_prob(x[:, None])
        share = (logs - logs.logsumexp(1, keepdim=True)).exp()
        total = share.sum(0)
        weight, mean = total / len(x), (share * x[:, None]).sum(0) / total
        std = ((share * (x[:, None] - mean) ** 2).sum(0) / total).sqrt()
    mixed = distributions.MixtureSameFamily(distributions.Categorical(weight), distributions.Normal(mean, std))
    return weight, mean, std, mixed.log_prob(x).sum(), mixed.mean


@program
def gaussian_process_with_its_likelihood():
    device = gpu()
    x = torch.linspace(0, 1, 8, device=device, dtype=torch.float64)
    y, at = torch.sin(6 * x), torch.tensor([0.15, 0.5], device=device, dtype=torch.float64)
    log_scale = torch.zeros((), dtype=torch.float64, device=device, requires_grad=True)
    optimiser = torch.optim.Adam([log_scale], lr=0.1)

    def kernel(a, b):
        return torch.exp(-0.5 * ((a[:, None] - b) / log_scale.exp()) ** 2)

    for _ in range(3):
        low = torch.linalg.cholesky(kernel(x, x) + 1e-4 * torch.eye(8, device=device, dtype=torch.float64))
        weight = torch.cholesky_solve(y[:, None], low)
        loss = 0.5 * y @ weight[:, 0] + low.diagonal().log().sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    mean = kernel(at, x) @ weight
    half = torch.linalg.solve_triangular(low, kernel(x, at), upper=False)
    return loss, mean, kernel(at, at).diag() - half.pow(2).sum(0), log_scale


@program
def waves_are_cleaned_by_their_spectrum():
    device = gpu()
    t = torch.arange(64, device=device) / 64
    wave = torch.sin(2 * torch.pi * 5 * t) + 0.3 * drawn(64).to(device)
    spectrum = torch.fft.rfft(wave)
    power = spectrum.abs() ** 2
    spectrum[power < power.max() / 10] = 0
    clean = torch.fft.irfft(spectrum, n=64)
    image = torch.fft.fftshift(torch.fft.fft2(drawn(8, 8).to(device)))
    low = torch.fft.ifft2(torch.fft.ifftshift(image * (torch.fft.fftfreq(8, device=device).abs() < 0.3))).real
    return clean, torch.fft.rfftfreq(64, 1 / 64, device=device)[power.argmax()], low, torch.angle(image)


@program
def sounds_in_windows_and_back():
    device = gpu()
    sound, window = drawn(200, device=device), torch.hamming_window(32, periodic=True).to(device)
    spectrum = torch.stft(sound, 32, hop_length=8, window=window, center=True, return_complex=True)
    bank = torch.rand(17, 6).to(device)
    mel = torch.log1p(spectrum.abs().pow(2).transpose(-1, -2) @ bank)
    again = torch.istft(spectrum, 32, hop_length=8, window=window, length=200)
    return mel, (again - sound).abs().max() < 1e-5, torch.view_as_real(spectrum).flatten(), mel.diff(dim=0).std()


@program
def the_edge_of_mandelbrots_set():
    device = gpu()
    re, im = torch.meshgrid(torch.linspace(-2, 1, 12), torch.linspace(-1.5, 1.5, 10), indexing="xy")
    c = torch.complex(re, im).to(device)
    z, count = torch.zeros_like(c), torch.zeros(c.shape, dtype=torch.int16, device=device)
    for _ in range(15):
        z = z * z + c
        inside = z.abs() <= 2
        count += inside
        z = torch.where(inside, z, torch.full_like(z, 3))
    return count, c.conj().imag, (c * c.conj()).real


@program
def main_directions_of_data():
    device = gpu()
    x = drawn(12, 4, device=device) @ torch.diag(torch.tensor([3.0, 2, 1, 0.1])).to(device)
    x = x - x.mean(0)
    _, s, vh = torch.linalg.svd(x, full_matrices=False)
    values, vectors = torch.linalg.eigh(torch.cov(x.T))
    q, r = torch.linalg.qr(x)
    v = torch.ones(4, device=device)
    for _ in range(50):
        v = torch.nn.functional.normalize(x.T @ (x @ v), dim=0)
    return [
        s, vh.abs(), values, vectors.abs(), (q @ r - x).abs().max() < 1e-5, v.abs(), torch.corrcoef(x.T),
        torch.linalg.pinv(x), torch.linalg.lstsq(x, x[:, :1]).solution, torch.linalg.cond(x),
        torch.matrix_exp(x.T @ x / 100), torch.logdet(torch.cov(x.T)),
        torch.linalg.slogdet(torch.cov(x.T)), torch.kron(values, s), torch.linalg.matrix_power(r, 3).diagonal().abs(),
    ]  # fmt: skip
