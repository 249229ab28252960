"""Rows of an embedding: a row's gradient has entries only for the words that the row holds."""

from functools import cached_property

import torch
from torch import Tensor, nn

from siloseal.silo.training.clipping.layers.rows import Gradients, squares, zeroed
from siloseal.silo.training.clipping.long_sum import doubled


class EmbeddingRows:
    """A row's gradient of one word is the sum of the derivatives at all places of the row where the word stands."""

    def __init__(self, layer: nn.Embedding, words: Tensor, derivatives: Tensor) -> None:
        self._layer = layer
        self._words = words.flatten(1)  # (B, L)
        self._derivatives = derivatives.view(*self._words.shape, -1)  # (B, L, D)
        if layer.padding_idx is not None:
            padding = (self._words == layer.padding_idx)[:, :, None]
            self._derivatives = self._derivatives.masked_fill(padding, 0.0)

    @cached_property
    def _pairs(self) -> tuple[Tensor, Tensor, Tensor]:
        """Each pair of row and word: the row, the word, and the gradient (pairs, D).

        Norms and weighted sums both come from it. A sum over places in another order is another sum where they cancel.
        """
        owners = torch.arange(len(self._words), device=self._words.device)[:, None]
        pairs, where = torch.unique(owners * self._layer.num_embeddings + self._words, return_inverse=True)
        sums = self._derivatives.new_zeros(len(pairs), self._derivatives.shape[2])
        sums.index_add_(0, where.flatten(), self._derivatives.flatten(0, 1))
        return pairs // self._layer.num_embeddings, pairs % self._layer.num_embeddings, sums

    def squared_norms(self) -> Tensor:
        owners, _, sums = self._pairs
        each = squares(sums)
        return each.new_zeros(len(self._words)).index_add_(0, owners.to(each.device), each)

    def weighted_sum(self, weights: Tensor) -> Gradients:
        owners, words, sums = self._pairs
        sums = doubled(sums)
        total, owners, words = sums.new_zeros(self._layer.weight.shape), owners.to(sums.device), words.to(sums.device)
        return {"weight": total.index_add_(0, words, sums * weights[owners, None])}

    def without(self, rows: Tensor) -> "EmbeddingRows":
        return EmbeddingRows(self._layer, self._words, zeroed(rows, self._derivatives))

    def sources(self) -> list[Tensor]:
        return [self._words, self._derivatives]
