"""Polynomials modulo x^n + 1 and a small prime: the ring of the encrypted sum, small enough for pencil and paper.

The real ring has degree 4,096 or more, and its keys have that many entries. With four entries of -1, 0 or 1 there are
81 keys, and anybody can try them all: nothing is hidden, and every number can be checked.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from siloseal.federation.errors import DomainError

Polynomial = tuple[int, ...]


@dataclass(frozen=True)
class ToyRing:
    """Coefficients from the constant one upwards, each between -modulus / 2 and modulus / 2."""

    degree: int
    modulus: int

    def reduce(self, coefficients: Sequence[int]) -> Polynomial:
        """Return each coefficient as the remainder nearest to zero."""
        if len(coefficients) != self.degree:
            raise DomainError(f"a polynomial has {len(coefficients)} coefficients, this ring's have {self.degree}")
        half = self.modulus // 2
        return tuple((coefficient + half) % self.modulus - half for coefficient in coefficients)

    def add(self, *polynomials: Sequence[int]) -> Polynomial:
        """Return the sum of any number of polynomials."""
        return self.reduce([sum(column) for column in zip(*polynomials, strict=True)])

    def scale(self, factor: int, polynomial: Sequence[int]) -> Polynomial:
        """Return a number times a polynomial."""
        return self.reduce([factor * coefficient for coefficient in polynomial])

    def multiply(self, left: Sequence[int], right: Sequence[int]) -> Polynomial:
        """Return the product, in which x^n is -1: what is carried over the end comes back with the other sign."""
        product = [0] * self.degree
        for i, one in enumerate(left):
            for j, other in enumerate(right):
                turns, place = divmod(i + j, self.degree)
                product[place] += (-1) ** turns * one * other
        return self.reduce(product)

    def divide(self, product: Sequence[int], factor: Sequence[int]) -> Polynomial:
        """Return the other factor, by elimination in the linear equations for its coefficients."""
        powers = [tuple(int(place == power) for place in range(self.degree)) for power in range(self.degree)]
        columns = [self.multiply(factor, power) for power in powers]
        rows = [[*row, right] for row, right in zip(zip(*columns, strict=True), product, strict=True)]
        for pivot in range(self.degree):
            self._eliminate(rows, pivot)
        return self.reduce([row[-1] for row in rows])

    def _eliminate(self, rows: list[list[int]], pivot: int) -> None:
        """Leave 1 on the diagonal and 0 elsewhere in this column."""
        below = [number for number in range(pivot, self.degree) if rows[number][pivot] % self.modulus]
        if not below:
            raise DomainError("this polynomial divides no other: it shares a factor with x^n + 1; take another")
        rows[pivot], rows[below[0]] = rows[below[0]], rows[pivot]
        inverse = pow(rows[pivot][pivot], -1, self.modulus)
        rows[pivot] = [entry * inverse % self.modulus for entry in rows[pivot]]
        for number, row in enumerate(rows):
            if number != pivot:
                rows[number] = [
                    (entry - row[pivot] * above) % self.modulus for entry, above in zip(row, rows[pivot], strict=True)
                ]
