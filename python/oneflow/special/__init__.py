"""Special functions under the names of `oneflow.special`; each is an op of the table.

Source: the names follow OneFlow's Python API, https://docs.oneflow.org.

    >>> flow.special.erf(flow.tensor([0.0])).tolist()
    [0.0]
"""

from __future__ import annotations

from oneflow import _C

digamma = _C.digamma
erf = _C.erf
erfc = _C.erfc
erfinv = _C.erfinv
exp2 = _C.exp2
expm1 = _C.expm1
log1p = _C.log1p
log_softmax = _C.log_softmax
logsumexp = _C.logsumexp
psi = _C.psi
round = _C.round

__all__ = [
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "expm1",
    "log1p",
    "log_softmax",
    "logsumexp",
    "psi",
    "round",
]
