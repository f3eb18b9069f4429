"""The engines: each gives an epoch of a shuffled order as a framework's tensors of float32, rows × columns."""

import warnings


class Engine:
    """load takes the data, open makes the loader over it, epoch gives the batches of one epoch, unload forgets all that."""

    ops = ("memory",)
    why = "it reads no Parquet files"

    held = ()  # the names of what load and open keep

    def open(self):
        pass

    def unload(self):
        for name in self.held:
            setattr(self, name, None)

    def array(self, x):
        import numpy as np

        return np.from_dlpack(x)


class Volley(Engine):
    """Ours. From memory the loader takes the table over and lays it out by rows, as the peers' tensors are; that is in the time to its first batch.
    A loader is opened over a file for each epoch in its order; to shuffle all rows it is read whole. All of that is in its time."""

    ops = ("memory", "parquet", "parquet-shuffled")

    def __init__(self, threads):
        import torch
        import volley as vo

        torch.set_num_threads(threads)
        self.vo, self.version, self.threads, self.loader = vo, vo.version(), threads, None

    def load(self, data):
        self.data = data
        self.table = self.vo.Table(data.table()) if data.op == "memory" else None

    def unload(self):
        if self.loader is not None:
            self.loader.close()
        self.loader = self.table = None

    def open(self):
        if self.loader is not None:
            self.loader.close()
            self.loader = None
        if self.data.op == "memory":
            table, self.table = self.table or self.vo.Table(self.data.table()), None
            self.loader = self.vo.Loader(table, self.data.batch, shuffle=True, seed=7, workers=self.threads, take=True)

    def epoch(self):
        if self.loader is not None:
            yield from self.loader.torch()
            return
        data, shuffle = self.data.parquet, self.data.op == "parquet-shuffled"
        if shuffle:
            data = self.vo.read_parquet(data)
        with self.vo.Loader(data, self.data.batch, shuffle=shuffle, seed=7, workers=self.threads, epochs=1, take=shuffle) as loader:
            yield from loader.torch()


class Default(Volley):
    """Ours as it is when nothing is asked for: the table stays as it is, and the loader has 50 MiB beside it."""

    ops = ("memory",)
    why = "it is a way to read from memory"

    def open(self):
        if self.loader is not None:
            self.loader.close()
        self.loader = self.vo.Loader(self.table, self.data.batch, shuffle=True, seed=7, workers=self.threads)


class Torch(Engine):
    held = ("loader", "x")

    def __init__(self, threads):
        import torch

        torch.set_num_threads(threads)
        self.torch, self.version = torch, torch.__version__

    def load(self, data):
        self.data, self.x = data, self.torch.from_dlpack(data.matrix())

    def open(self):
        from torch.utils.data import DataLoader, TensorDataset

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.loader = DataLoader(TensorDataset(self.x), batch_size=self.data.batch, shuffle=True, **self.more)

    def epoch(self):
        for (x,) in self.loader:
            yield x


class Loader0(Torch):
    more = {}


class Loader2(Torch):
    """Workers stay from epoch to epoch: their start is not timed after the first."""

    more = {"num_workers": 2, "persistent_workers": True}


class BatchSampled(Torch):
    """DataLoader with a batch sampler: the dataset is asked for all rows of a batch at once."""

    def open(self):
        from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

        whole = TensorDataset(self.x)
        self.loader = DataLoader(whole, sampler=BatchSampler(RandomSampler(whole), self.data.batch, False), batch_size=None)


class Gather(Torch):
    """The fast trick: a permutation, and whole batches gathered by hand."""

    def open(self):
        pass

    def epoch(self):
        order = self.torch.randperm(self.data.rows)
        for i in range(0, self.data.rows, self.data.batch):
            yield self.x[order[i : i + self.data.batch]]


class TorchData(Torch):
    def __init__(self, threads):
        super().__init__(threads)
        import torchdata

        self.version = torchdata.__version__

    def open(self):
        from torch.utils.data import TensorDataset
        from torchdata.stateful_dataloader import StatefulDataLoader

        self.loader = StatefulDataLoader(TensorDataset(self.x), batch_size=self.data.batch, shuffle=True)


class TFData(Engine):
    """The faster of two ways: row numbers are shuffled, and batches of them gathered."""

    held = ("set", "x")

    def __init__(self, threads):
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
        self.tf, self.version = tf, tf.__version__

    def load(self, data):
        self.data, self.x = data, self.tf.constant(data.matrix())

    def open(self):
        data, x = self.data, self.x
        shuffled = self.tf.data.Dataset.range(data.rows).shuffle(data.rows).batch(data.batch)
        self.set = shuffled.map(lambda i: self.tf.gather(x, i), num_parallel_calls=self.tf.data.AUTOTUNE).prefetch(self.tf.data.AUTOTUNE)

    def epoch(self):
        yield from self.set

    def array(self, x):
        return x.numpy()


class PyArrow(Engine):
    """In memory rows are taken at random; batches of a file come in its order."""

    ops = ("memory", "parquet")
    why = "it shuffles no rows of files"
    held = ("table",)

    def __init__(self, threads):
        import pyarrow as pa
        import torch

        pa.set_cpu_count(threads)
        pa.set_io_thread_count(threads)
        self.pa, self.torch, self.version = pa, torch, pa.__version__

    def load(self, data):
        self.data = data
        self.table = data.table() if data.op == "memory" else None

    def epoch(self):
        import numpy as np
        import pyarrow.dataset as ds

        if self.table is None:
            for b in ds.dataset(self.data.parquet).to_batches(batch_size=self.data.batch):
                yield self.tensor(b.columns)
            return
        order = np.random.default_rng().permutation(self.data.rows)
        for i in range(0, self.data.rows, self.data.batch):
            yield self.tensor(self.table.take(self.pa.array(order[i : i + self.data.batch])).columns)

    def tensor(self, columns):
        import numpy as np
        from data import plain

        arrays = [c.to_numpy(zero_copy_only=False) if isinstance(c, self.pa.Array) else c.to_numpy() for c in map(plain, columns)]
        return self.torch.from_dlpack(np.stack([a.astype(np.float32, copy=False) for a in arrays], 1))


ENGINES = {
    "volley": Volley, "volley-default": Default, "torch-loader-0": Loader0, "torch-loader-2": Loader2, "torch-batch": BatchSampled, "torch-gather": Gather, "torchdata": TorchData,
    "tfdata": TFData, "pyarrow": PyArrow,
}  # fmt: skip
