"""The tensors in nested values, and the memory that they are in."""

from torch import Tensor


def map_tensors(change, value):
    """The value with each tensor in its tuples, lists and dicts replaced by change(tensor)."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: map_tensors(change, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [map_tensors(change, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def tensors_in(value):
    """The tensors of a nested value, in order."""
    found = []
    map_tensors(found.append, value)
    return found


def bytes_of(tensor):
    """Bytes of its elements."""
    return tensor.numel() * tensor.element_size()


def storage_of(tensor):
    """(address, bytes) of the memory that the tensor is in, which views of it share."""
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return storage.data_ptr(), storage.nbytes()


def address_of(tensor):
    return storage_of(tensor)[0]
