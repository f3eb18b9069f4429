"""A loader as PyTorch's own: an IterableDataset of whole batches that is used as a DataLoader is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torch.utils.data import IterableDataset, get_worker_info

from .errors import Unsupported
from .loader import Batches, Loader, Transform, _torch


_NO_PROCESSES = "a loader's workers are threads of the library: DataLoader(loader.torch(), batch_size=None) takes it with num_workers=0"


class TorchLoader(IterableDataset):  # type: ignore[misc, type-arg, unused-ignore]
    """Batches of PyTorch tensors that share the loader's memory. Loop over it as over a DataLoader; ``state_dict`` and ``load_state_dict`` are those
    of StatefulDataLoader, ``set_epoch`` is that of DistributedSampler (as ``sampler.set_epoch`` too, where a trainer looks for it).

    Where a DataLoader itself is wanted it is ``DataLoader(loader.torch(), batch_size=None)``, which hands the same tensors on. Its num_workers stays
    0: the workers are the library's threads, and the batches need not be sent between processes.
    """

    num_workers = 0
    timeout, persistent_workers = 0, False
    batch_sampler = collate_fn = generator = multiprocessing_context = prefetch_factor = worker_init_fn = None

    def __init__(self, loader: Loader, transform: Transform | None = None) -> None:
        super().__init__()
        self.loader = loader
        self._batches = Batches(loader, _torch(loader), transform)

    def __iter__(self) -> Iterator[Any]:
        if get_worker_info() is not None:
            raise Unsupported(_NO_PROCESSES, "unsupported")
        return iter(self._batches)

    def __reduce__(self) -> Any:
        raise TypeError(_NO_PROCESSES)  # PyTorch sends it to processes that it spawns

    def __len__(self) -> int:
        return len(self.loader)

    @property
    def batch_size(self) -> int:
        """Rows of a batch."""
        return self.loader.batch_size

    @property
    def pin_memory(self) -> bool:
        """Whether the ring was asked to be in pinned memory."""
        return self.loader.pin_memory

    @property
    def drop_last(self) -> bool:
        """Whether rows that fill no whole batch on every rank are left out."""
        return self.loader.drop_last

    @property
    def dataset(self) -> TorchLoader:
        """The dataset, which is the loader itself."""
        return self

    @property
    def sampler(self) -> TorchLoader:
        """What has ``set_epoch``: the loader itself."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """See Loader.set_epoch."""
        self.loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """See Loader.state_dict."""
        return self.loader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See Loader.load_state_dict."""
        self.loader.load_state_dict(state)
