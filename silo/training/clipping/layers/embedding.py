"""Rows of an embedding: a row's gradient has entries only for the words that the row holds."""

import torch
from torch import Tensor, nn

from siloseal.silo.training.clipping.layers.rows import Gradients, zeroed


class EmbeddingRows:
    """A row's gradient of one word is the sum of the derivatives at all places of the row where the word stands."""

    def __init__(self, layer: nn.Embedding, words: Tensor, derivatives: Tensor) -> None:
        self._layer = layer
        self._words = words.flatten(1)  # (B, L)
        self._derivatives = derivatives.view(*self._words.shape, -1)  # (B, L, D)
        if layer.padding_idx is not None:
            padding = (self._words == layer.padding_idx)[:, :, None]
            self._derivatives = self._derivatives.masked_fill(padding, 0.0)

    def squared_norms(self) -> Tensor:
        rows = len(self._words)
        owners = torch.arange(rows, device=self._words.device)[:, None]
        # Each pair of row and word is summed before it is squared: no product of places, so nothing can cancel.
        pairs, where = torch.unique(owners * self._layer.num_embeddings + self._words, return_inverse=True)
        sums = self._derivatives.new_zeros(len(pairs), self._derivatives.shape[2])
        sums.index_add_(0, where.flatten(), self._derivatives.flatten(0, 1))
        total = self._derivatives.new_zeros(rows)
        return total.index_add_(0, pairs // self._layer.num_embeddings, sums.square().sum(1))

    def weighted_sum(self, weights: Tensor) -> Gradients:
        scaled = (self._derivatives * weights[:, None, None]).flatten(0, 1)
        total = scaled.new_zeros(self._layer.weight.shape)
        return {"weight": total.index_add_(0, self._words.flatten(), scaled)}

    def without(self, rows: Tensor) -> "EmbeddingRows":
        return EmbeddingRows(self._layer, self._words, zeroed(rows, self._derivatives))

    def only(self, rows: slice) -> "EmbeddingRows":
        return EmbeddingRows(self._layer, self._words[rows], self._derivatives[rows])
