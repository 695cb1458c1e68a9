"""Single layers, large enough that the device has something to do."""

import torch
from torch.nn import functional


def attention(device, part):
    """Attention forward: 8 sequences of 512, 8 heads of 64."""
    q, k, v = (torch.randn(8 // part or 1, 8, 512 // part, 64, device=device) for _ in range(3))
    return lambda: functional.scaled_dot_product_attention(q, k, v)


def attention_backward(device, part):
    """The same with its gradients."""
    q, k, v = (torch.randn(8 // part or 1, 8, 512 // part, 64, device=device, requires_grad=True) for _ in range(3))
    return lambda: torch.autograd.grad(functional.scaled_dot_product_attention(q, k, v).sum(), (q, k, v))


def convolution_3x3(device, part):
    """32 pictures, 64 channels to 64, 56 × 56."""
    return _convolution(device, part, 64, 64, 3)


def convolution_1x1(device, part):
    """32 pictures, 128 channels to 256, 56 × 56."""
    return _convolution(device, part, 128, 256, 1)


def convolution_by_channel(device, part):
    """32 pictures, 128 channels, each by a 3 × 3 filter of its own."""
    return _convolution(device, part, 128, 128, 3, groups=128)


def layer_norm(device, part):
    """16,384 rows of 1,024, forward and backward."""
    x = torch.randn(16_384 // part, 1024, device=device, requires_grad=True)
    return lambda: torch.autograd.grad(functional.layer_norm(x, (1024,)).sum(), x)


def batch_norm(device, part):
    """64 pictures of 64 channels, 56 × 56, in training."""
    x, weight, bias = torch.randn(64 // part, 64, 56, 56, device=device), *torch.ones(2, 64, device=device)
    return lambda: functional.batch_norm(x, None, None, weight, bias, training=True)


def cross_entropy(device, part):
    """4,096 rows of 8,000 classes, forward and backward."""
    x = torch.randn(4096 // part, 8000, device=device, requires_grad=True)
    labels = torch.randint(8000, (4096 // part,), device=device)
    return lambda: torch.autograd.grad(functional.cross_entropy(x, labels), x)


def _convolution(device, part, channels, filters, size, groups=1):
    x = torch.randn(32 // part, channels, 56, 56, device=device)
    weight = torch.randn(filters, channels // groups, size, size, device=device)
    return lambda: functional.conv2d(x, weight, padding=size // 2, groups=groups)


PROGRAMS = (
    attention, attention_backward, convolution_3x3, convolution_1x1, convolution_by_channel, layer_norm, batch_norm,
    cross_entropy,
)  # fmt: skip
