"""What a simulated GPU tells of itself: torch.cuda.get_device_properties, its name never without the word simulated."""

from dataclasses import dataclass

# hardware, as its data sheet names it -> compute capability, multiprocessors. NVIDIA's list of compute capabilities
# (developer.nvidia.com/cuda-gpus) and the white papers of the architectures: H200 and H100 SXM 132, A100 108, T4 40.
_KNOWN = {"H200": ((9, 0), 132), "H100": ((9, 0), 132), "A100": ((8, 0), 108), "T4": ((7, 5), 40)}


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
    def capability(self):
        """Major and minor number of the compute capability."""
        return self.major, self.minor

    def __repr__(self):
        memory, count = self.total_memory // 2**20, self.multi_processor_count
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={memory}MB, multi_processor_count={count}, simulated)"
        )


def properties_of(model, index):
    """Return the `DeviceProperties` of simulated GPU `index` of a `DeviceModel`: the same for every index."""
    words = model.hardware.replace("-", " ").split()
    (major, minor), count = next((known for word, known in _KNOWN.items() if word in words), ((0, 0), 0))
    return DeviceProperties(f"{model.hardware} (simulated)", major, minor, model.memory, count)
