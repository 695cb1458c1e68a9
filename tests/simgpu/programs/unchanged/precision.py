"""Programs in fewer bits, and of other kinds of numbers: autocast, bfloat16, whole numbers, complex ones."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.simgpu.programs.harness import drawn, gpu, program


@program
def a_whole_model_in_bfloat16():
    device = gpu()
    model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.SiLU(), nn.Linear(4, 2)).to(device, torch.bfloat16)
    x = drawn(3, 4, device=device).bfloat16()
    output = model(x)
    output.float().sum().backward()
    kinds = {p.grad.dtype for p in model.parameters()}
    return (
        output.float(),
        kinds == {torch.bfloat16},
        torch.finfo(output.dtype).eps,
        model.float()(x.float()).dtype.itemsize,
    )


@program
def eight_bits_by_hand():
    device = gpu()
    weight, x = drawn(4, 6, device=device), drawn(3, 6, device=device)
    scale = weight.abs().amax(1, keepdim=True) / 127
    whole = torch.clamp((weight / scale).round(), -128, 127).to(torch.int8)
    again = whole.float() * scale
    low, high = whole & 0x0F, (whole >> 4) & 0x0F
    packed = (low | (high << 4)).to(torch.uint8).view(torch.int8)
    fake = torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127)
    return whole, F.linear(x, again), (again - weight).abs().max(), torch.equal(packed, whole), fake


@program
def the_same_bits_seen_as_other_numbers():
    device = gpu()
    x = torch.tensor([1.0, -2.5, 0.15625], device=device)
    bits = x.view(torch.int32)
    exponent = ((bits >> 23) & 0xFF) - 127
    mantissa, power = torch.frexp(x)
    quick = (0x5F3759DF - (x.abs().view(torch.int32) >> 1)).view(torch.float32)
    small = torch.arange(4, dtype=torch.uint8, device=device)
    return [
        bits, exponent, mantissa, power, torch.ldexp(mantissa, power), quick, torch.signbit(x),
        x.half().view(torch.int16), torch.nextafter(x, x + 1), small - 5, small.to(torch.int16) - 5,
        torch.bitwise_not(small), x.to(torch.int64) // 2, torch.iinfo(small.dtype).max,
        x.double().sum(dtype=torch.float32), torch.result_type(small, 1.0).itemsize,
    ]  # fmt: skip


@program
def complex_numbers_are_learned():
    device = gpu()
    weight = torch.tensor([[1 + 1j, 0.5j], [2.0 - 1j, 1.0]], device=device, requires_grad=True)
    x = torch.complex(drawn(4, 2), drawn(4, 2)).to(device)
    optimiser, results = torch.optim.SGD([weight], lr=0.1), []
    for _ in range(3):
        output = x @ weight.conj().T
        loss = (output.abs() - 1).square().mean() + output.angle().cos().mean() + torch.view_as_real(output).std()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        results.append(loss.item())
    return (
        results,
        weight,
        torch.polar(output.abs(), output.angle()),
        torch.sgn(output),
        weight.mH @ weight,
        weight.real.T,
    )


@program
def masks_in_every_kind_of_attention():
    device = gpu()
    q, k, v = (drawn(2, 2, 4, 8, device=device).requires_grad_() for _ in range(3))
    lengths = torch.tensor([4, 2], device=device)
    visible = (torch.arange(4, device=device)[None] < lengths[:, None])[:, None, None]
    results = [F.scaled_dot_product_attention(q, k, v, attn_mask=visible)]
    results += [
        F.scaled_dot_product_attention(q, k, v, attn_mask=torch.zeros_like(visible).float().masked_fill(~visible, -9e9))
    ]
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        results += [F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.5)]
    slopes = -(torch.arange(4, device=device)[None] - torch.arange(4, device=device)[:, None]).abs().float()
    results += [F.scaled_dot_product_attention(q, k[:, :1].expand(-1, 2, -1, -1), v, attn_mask=slopes)]
    results += [F.scaled_dot_product_attention(q, k[:, :1], v[:, :1], enable_gqa=True)]
    sum(result.square().sum() for result in results).backward()
    return results, q.grad, k.grad, v.grad
