"""What the model of a CPU tells of the machine."""


def is_emulated_cpu(model: str) -> bool:
    """Return whether the CPU of that model is QEMU's own, each of whose instructions is translated."""
    return model.startswith("QEMU TCG CPU")
