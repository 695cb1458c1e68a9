"""The properties of a simulated GPU: its name, compute capability, multiprocessors and memory."""

from dataclasses import dataclass

from simgpu.models.device_model import DeviceModel

# hardware, as its data sheet names it -> compute capability, multiprocessors. NVIDIA's list of compute capabilities
# (developer.nvidia.com/cuda-gpus) and the white papers of the architectures: B200 148, H200 and H100 SXM 132, RTX 4090
# 128, A100 108, L4 58, T4 40.
_BY_HARDWARE = {
    "B200": ((10, 0), 148),
    "H200": ((9, 0), 132),
    "H100": ((9, 0), 132),
    "4090": ((8, 9), 128),
    "A100": ((8, 0), 108),
    "L4": ((8, 9), 58),
    "T4": ((7, 5), 40),
}


@dataclass(frozen=True)
class DeviceProperties:
    """Name, compute capability, memory in bytes and number of multiprocessors of a simulated GPU.

    `major`, `minor` and `multi_processor_count` are 0 where the model doesn't say which hardware it stands for.
    """

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    warp_size: int = 32
    is_integrated: int = 0
    is_multi_gpu_board: int = 0
    gcnArchName: str = ""  # torch's name; asked for by programs that also run on AMD's GPUs

    @property
    def capability(self) -> tuple[int, int]:
        """Major and minor number of the compute capability."""
        return self.major, self.minor

    def __repr__(self):
        memory, count = self.total_memory // 2**20, self.multi_processor_count
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={memory}MB, multi_processor_count={count}, simulated)"
        )


def properties_of(model: DeviceModel, index: int) -> DeviceProperties:
    """Return the `DeviceProperties` of simulated GPU `index` of a `DeviceModel`: the same for every index."""
    words = model.hardware.replace("-", " ").split()
    by_name = next((figures for word, figures in _BY_HARDWARE.items() if word in words), ((0, 0), 0))
    (major, minor), count = (model.capability, model.multiprocessors) if any(model.capability) else by_name
    return DeviceProperties(f"{model.hardware} (simulated)", major, minor, model.memory, count)
