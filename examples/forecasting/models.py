"""NLinear (Zeng et al., "Are Transformers Effective for Time Series Forecasting?", AAAI 2023) and an LSTM."""

from __future__ import annotations

import torch


class NLinear(torch.nn.Module):
    """One linear map from history to horizon, of what is left when the last value is taken off; all columns share it."""

    def __init__(self, history: int, horizon: int, columns: int) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(history, horizon)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        last = x[:, -1:]
        return self.linear((x - last).transpose(1, 2)).transpose(1, 2) + last


class LSTM(torch.nn.Module):
    """The last state of an LSTM over the history, mapped to the horizon of all columns."""

    def __init__(self, history: int, horizon: int, columns: int, hidden: int = 64) -> None:
        super().__init__()
        self.horizon, self.columns = horizon, columns
        self.lstm = torch.nn.LSTM(columns, hidden, batch_first=True)
        self.out = torch.nn.Linear(hidden, horizon * columns)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        last = x[:, -1:]
        states, _ = self.lstm(x - last)
        return self.out(states[:, -1]).view(-1, self.horizon, self.columns) + last


MODELS = {"nlinear": NLinear, "lstm": LSTM}
