"""The case file: every op that is timed by size, with its operands and its weight.

Fixed before the first run. A statement is Python text that means the same for OneFlow and PyTorch;
it sees `library`, `F` (nn.functional) and its operands. Sizes are those of the first operand in
float32; an operand is a shape word, with `:` and a kind where it is not `float`:

    n (n,)    square (r, n / r)    row (n / r,)    rows (n / 1024, 1024)    width (1024,)
    nchw, channels, weight3, weight1, depthwise, transposed: a picture of n elements, filters for it
    k, kk: vectors and matrices whose square matrix has n elements    batch (16, k, k)
    heads (batch, 8 heads, length, 64)
    kinds: float, positive, double, bfloat16, int (0 to 9), index (into the first dim), bool, grad
    (a float leaf that requires grad)
"""

from __future__ import annotations

from dataclasses import dataclass, field

# Elements of the first operand, by class.
SIZES = {
    "1 element": 1,
    "1 kB": 256,
    "64 kB": 16_384,
    "1 MB": 262_144,
    "16 MB": 4_194_304,
    "64 MB": 16_777_216,
}
DISPATCH = ("1 element",)
ALL = ("1 element", "1 kB", "64 kB", "1 MB", "16 MB", "64 MB")
TO_16_MB = ALL[:-1]
TO_1_MB = ALL[:-2]


@dataclass(frozen=True)
class Case:
    """One op with operands.

    Attributes:
        name: unique in its family.
        statement: what is timed.
        operands: name to shape word and kind.
        out: the same for PyTorch with its result in `out`, which was written before; "" where
            PyTorch has no such form.
        sizes: classes that it is timed in.
        weight: in its family's mean.
    """

    name: str
    statement: str
    operands: dict[str, str] = field(default_factory=lambda: {"x": "n"})
    out: str = ""
    sizes: tuple[str, ...] = ALL
    weight: float = 1.0


def _unary(names: str, kind: str = "", sizes: tuple[str, ...] = ALL) -> list[Case]:
    operand = {"x": f"n:{kind}" if kind else "n"}
    suffix = f" {kind}" if kind in ("double", "bfloat16") else ""
    return [
        Case(name + suffix, f"library.{name}(x)", operand, f"library.{name}(x, out=out)", sizes)
        for name in names.split()
    ]


def _binary(names: str, kind: str = "float", sizes: tuple[str, ...] = ALL) -> list[Case]:
    operands = {"x": f"n:{kind}", "y": f"n:{kind}"}
    suffix = "" if kind == "float" else f" {kind}"
    return [
        Case(name + suffix, f"library.{name}(x, y)", operands, f"library.{name}(x, y, out=out)",
             sizes)
        for name in names.split()
    ]  # fmt: skip


def _functional(names: str, sizes: tuple[str, ...] = ALL) -> list[Case]:
    return [Case(name, f"F.{name}(x)", sizes=sizes) for name in names.split()]


_SQUARE, _ROWS, _NCHW = {"x": "square"}, {"x": "rows"}, {"x": "nchw"}

FAMILIES: dict[str, list[Case]] = {
    "arithmetic": [
        *_binary("add sub mul div maximum minimum"),
        *_binary("add mul", "double", TO_16_MB),
        *_binary("add mul", "bfloat16", TO_16_MB),
        *_binary("add mul", "int", TO_16_MB),
        Case("add number", "x + 1.5", out="library.add(x, 1.5, out=out)"),
        Case("mul number", "x * 1.5", out="library.mul(x, 1.5, out=out)"),
        Case("add row", "x + y", {"x": "square", "y": "row"}, "library.add(x, y, out=out)"),
        Case("add transposed", "x + y.t()", {"x": "square", "y": "square_back"}),
        Case("in place", "x.add_(y, alpha=0.0)", {"x": "n", "y": "n"}),
        Case("clamp", "library.clamp(x, -0.5, 0.5)", out="library.clamp(x, -0.5, 0.5, out=out)"),
        Case("where", "library.where(c, x, y)", {"x": "n", "y": "n", "c": "n:bool"}),
        Case("addcmul", "library.addcmul(x, y, z)", {"x": "n", "y": "n", "z": "n"},
             "library.addcmul(x, y, z, out=out)"),
        Case("masked_fill", "library.masked_fill(x, c, 0.0)", {"x": "n", "c": "n:bool"}),
        *_unary("neg abs square floor"),
    ],
    "math": [
        *_unary("exp sin cos tanh sigmoid erf expm1"),
        *_unary("log sqrt rsqrt log1p reciprocal", "positive"),
        *_unary("exp tanh", "double", TO_16_MB),
        *_unary("exp", "bfloat16", TO_16_MB),
        Case("pow", "library.pow(x, 2.5)", {"x": "n:positive"}, "library.pow(x, 2.5, out=out)"),
        Case("pow tensor", "library.pow(x, y)", {"x": "n:positive", "y": "n"},
             "library.pow(x, y, out=out)", TO_16_MB),
        Case("atan2", "library.atan2(x, y)", {"x": "n", "y": "n"},
             "library.atan2(x, y, out=out)", TO_16_MB),
    ],
    "compare": [
        *_binary("eq lt ge"),
        *_binary("logical_and", "bool"),
        Case("isnan", "library.isnan(x)"),
        Case("lt number", "x < 0.5", out="library.lt(x, 0.5, out=out)"),
    ],
    "activation": [
        *_functional("relu gelu silu mish leaky_relu elu selu softplus hardswish hardsigmoid"),
        Case("gelu gradient", "library.autograd.grad(F.gelu(x), x, g)", {"x": "n:grad", "g": "n"}),
        Case("silu gradient", "library.autograd.grad(F.silu(x), x, g)", {"x": "n:grad", "g": "n"}),
        Case("relu gradient", "library.autograd.grad(F.relu(x), x, g)", {"x": "n:grad", "g": "n"}),
    ],
    "reduction": [
        Case("sum", "library.sum(x)"),
        Case("sum dim 0", "library.sum(x, 0)", _SQUARE, "library.sum(x, 0, out=out)"),
        Case("sum dim 1", "library.sum(x, 1)", _SQUARE, "library.sum(x, 1, out=out)"),
        Case("mean dim 1", "library.mean(x, 1)", _SQUARE, "library.mean(x, 1, out=out)"),
        Case("max", "library.max(x)"),
        Case("amax dim 1", "library.amax(x, 1)", _SQUARE, "library.amax(x, 1, out=out)"),
        Case("amax dim 0", "library.amax(x, 0)", _SQUARE, "library.amax(x, 0, out=out)"),
        Case("argmax dim 1", "library.argmax(x, 1)", _SQUARE),
        Case("max dim 1", "library.max(x, 1)[0]", _SQUARE),
        Case("var dim 1", "library.var(x, 1)", {"x": "square_wide"}),
        Case("norm", "library.norm(x)"),
        Case("prod dim 1", "library.prod(x, 1)", _SQUARE, sizes=TO_16_MB),
        Case("cumsum dim 1", "library.cumsum(x, 1)", _SQUARE, "library.cumsum(x, 1, out=out)"),
        Case("logsumexp dim 1", "library.logsumexp(x, 1)", _SQUARE),
        Case("any", "library.any(x)", {"x": "n:false"}),
        Case("sum bfloat16", "library.sum(x, 1)", {"x": "square:bfloat16"}, sizes=TO_16_MB),
        Case("sum gradient", "library.autograd.grad(library.sum(x, 1), x, g)",
             {"x": "square:grad", "g": "column"}, sizes=TO_16_MB),
    ],
    "sort": [
        Case("sort", "library.sort(x, 1)[0]", _SQUARE, sizes=TO_16_MB),
        Case("argsort", "library.argsort(x, 1)", _SQUARE, sizes=TO_16_MB),
        Case("sort whole", "library.sort(x, 0)[0]", sizes=TO_16_MB),
        Case("topk", "library.topk(x, 1, 1)[0]", _SQUARE, sizes=TO_16_MB),
        Case("topk 10", "library.topk(x, 10, 1)[0]", {"x": "square_wide"}, sizes=TO_16_MB[1:]),
        Case("unique", "library.unique(x)", {"x": "n:int"}, sizes=TO_16_MB),
        Case("nonzero", "library.nonzero(x)", {"x": "n:bool"}, sizes=TO_16_MB),
        Case("searchsorted", "library.searchsorted(s, x)", {"x": "n", "s": "n:ascending"},
             sizes=TO_16_MB),
    ],
    "normalisation": [
        Case("softmax", "library.softmax(x, 1)", _ROWS, "library.softmax(x, 1, out=out)"),
        Case("softmax dim 0", "library.softmax(x, 0)", _SQUARE, "library.softmax(x, 0, out=out)"),
        Case("log_softmax", "library.log_softmax(x, 1)", _ROWS),
        Case("layer_norm", "F.layer_norm(x, (x.shape[1],), w, w)", {"x": "rows", "w": "width"}),
        Case("group_norm", "group_norm(x)", {"x": "nchw"}, sizes=TO_16_MB[1:]),
        Case("batch_norm", "F.batch_norm(x, m, v, w, w, True)",
             {"x": "nchw", "m": "channels", "v": "channels:positive", "w": "channels"},
             sizes=ALL[1:]),
        Case("batch_norm eval", "F.batch_norm(x, m, v, w, w, False)",
             {"x": "nchw", "m": "channels", "v": "channels:positive", "w": "channels"}),
        Case("softmax gradient", "library.autograd.grad(library.softmax(x, 1), x, g)",
             {"x": "rows:grad", "g": "rows"}, sizes=TO_16_MB),
        Case("layer_norm gradient",
             "library.autograd.grad(F.layer_norm(x, (x.shape[1],), w, w), (x, w), g)",
             {"x": "rows:grad", "g": "rows", "w": "width:grad"}, sizes=TO_16_MB),
        Case("batch_norm gradient",
             "library.autograd.grad(F.batch_norm(x, m, v, w, w, True), (x, w), g)",
             {"x": "nchw:grad", "g": "nchw", "m": "channels", "v": "channels:positive",
              "w": "channels:grad"}, sizes=TO_16_MB[1:]),
        Case("cross_entropy", "F.cross_entropy(x, t)", {"x": "rows", "t": "targets"},
             sizes=TO_16_MB),
        Case("cross_entropy gradient", "library.autograd.grad(F.cross_entropy(x, t), x)",
             {"x": "rows:grad", "t": "targets"}, sizes=TO_16_MB),
        Case("mse_loss", "F.mse_loss(x, y)", {"x": "n", "y": "n"}, sizes=TO_16_MB),
        Case("bce_with_logits", "F.binary_cross_entropy_with_logits(x, y)",
             {"x": "n", "y": "n:unit"}, sizes=TO_16_MB),
    ],
    "movement": [
        Case("cat", "library.cat((x, y), 0)", {"x": "square", "y": "square"},
             "library.cat((x, y), 0, out=out)"),
        Case("cat dim 1", "library.cat((x, y), 1)", {"x": "square", "y": "square"},
             "library.cat((x, y), 1, out=out)", TO_16_MB),
        Case("stack", "library.stack((x, y), 1)", {"x": "n", "y": "n"},
             "library.stack((x, y), 1, out=out)", TO_16_MB),
        Case("transpose", "x.t().contiguous()", _SQUARE),
        Case("to channels last", "x.permute(0, 2, 3, 1).contiguous()", _NCHW),
        Case("clone", "x.clone()"),
        Case("to double", "x.to(library.float64)", sizes=TO_16_MB),
        Case("to bfloat16", "x.to(library.bfloat16)", sizes=TO_16_MB),
        Case("flip", "library.flip(x, (1,))", _SQUARE, sizes=TO_16_MB),
        Case("roll", "library.roll(x, 1, 1)", _SQUARE, sizes=TO_16_MB),
        Case("pad", "F.pad(x, (1, 1, 1, 1))", _NCHW, sizes=TO_16_MB),
        Case("repeat", "x.repeat(1, 2)", _SQUARE, sizes=TO_16_MB),
        Case("tril", "library.tril(x)", _SQUARE, "library.tril(x, out=out)", TO_16_MB),
        Case("zeros", "library.zeros(x.shape)", sizes=TO_16_MB),
        Case("arange", "library.arange(x.shape[0])", sizes=TO_16_MB),
    ],
    "indexing": [
        Case("index_select", "library.index_select(x, 0, i)", {"x": "rows", "i": "lines:index"}),
        Case("gather", "library.gather(x, 1, i)", {"x": "square", "i": "square:column"},
             sizes=TO_16_MB),
        Case("scatter_add", "library.scatter_add(x, 1, i, y)",
             {"x": "square", "i": "square:column", "y": "square"}, sizes=TO_16_MB),
        Case("embedding", "F.embedding(i, x)", {"x": "rows", "i": "lines:index"}),
        Case("embedding gradient", "library.autograd.grad(F.embedding(i, x), x, g)",
             {"x": "rows:grad", "i": "lines:index", "g": "rows"}, sizes=TO_16_MB),
        Case("by indices", "x[i]", {"x": "rows", "i": "lines:index"}, sizes=TO_16_MB),
        Case("by a mask", "x[c]", {"x": "n", "c": "n:bool"}, sizes=TO_16_MB),
        Case("write by a mask", "x.masked_fill_(c, 1.0)", {"x": "n", "c": "n:bool"},
             sizes=TO_16_MB),
        Case("row", "x[0]", _SQUARE, sizes=DISPATCH),
        Case("slice", "x[0:1]", _SQUARE, sizes=DISPATCH),
        Case("view", "x.view(-1)", _SQUARE, sizes=DISPATCH),
        Case("unsqueeze", "x.unsqueeze(0)", _SQUARE, sizes=DISPATCH),
    ],
    "random": [
        Case("rand", "library.rand(x.shape)", sizes=ALL),
        Case("randn", "library.randn(x.shape)", sizes=ALL),
        Case("dropout", "F.dropout(x, 0.5)", sizes=ALL),
        Case("randperm", "library.randperm(x.shape[0])", sizes=TO_16_MB),
    ],
    "matmul": [
        Case("mm", "library.matmul(x, y)", {"x": "kk", "y": "kk"},
             "library.matmul(x, y, out=out)", TO_16_MB),
        Case("mm transposed", "library.matmul(x, y.t())", {"x": "kk", "y": "kk"},
             "library.matmul(x, y.t(), out=out)", TO_16_MB),
        Case("mm double", "library.matmul(x, y)", {"x": "kk:double", "y": "kk:double"},
             sizes=TO_1_MB),
        Case("mm bfloat16", "library.matmul(x, y)", {"x": "kk:bfloat16", "y": "kk:bfloat16"},
             sizes=TO_16_MB),
        Case("mv", "library.mv(x, y)", {"x": "kk", "y": "k"}, sizes=TO_16_MB),
        Case("bmm", "library.bmm(x, y)", {"x": "batch", "y": "batch"}, sizes=TO_1_MB),
        Case("linear", "F.linear(x, w, b)", {"x": "kk", "w": "kk", "b": "k"}, sizes=TO_16_MB),
        Case("linear gradient", "library.autograd.grad(F.linear(x, w, b), (x, w, b), g)",
             {"x": "kk:grad", "w": "kk:grad", "b": "k:grad", "g": "kk"}, sizes=TO_1_MB),
        Case("addmm", "library.addmm(x, x, y)", {"x": "kk", "y": "kk"}, sizes=TO_1_MB),
        Case("einsum", "library.einsum('bij,bjk->bik', x, y)", {"x": "batch", "y": "batch"},
             sizes=TO_1_MB),
        Case("attention", "attention(x, y, z)", {"x": "heads", "y": "heads", "z": "heads"},
             sizes=TO_1_MB[1:]),
        Case("lstm", "lstm(x)[0]", {"x": "sequence"}, sizes=TO_1_MB[1:]),
    ],
    "convolution": [
        Case("3 x 3", "F.conv2d(x, w, None, 1, 1)", {"x": "nchw", "w": "weight3"},
             sizes=TO_16_MB),
        Case("1 x 1", "F.conv2d(x, w)", {"x": "nchw", "w": "weight1"}, sizes=TO_16_MB),
        Case("stride 2", "F.conv2d(x, w, None, 2, 1)", {"x": "nchw", "w": "weight3"},
             sizes=TO_16_MB[1:]),
        Case("depthwise", "F.conv2d(x, w, None, 1, 1, 1, x.shape[1])",
             {"x": "nchw", "w": "depthwise"}, sizes=TO_16_MB),
        Case("transposed", "F.conv_transpose2d(x, w, None, 2, 1)",
             {"x": "nchw", "w": "weight3"}, sizes=TO_1_MB),
        Case("3 x 3 gradient", "library.autograd.grad(F.conv2d(x, w, None, 1, 1), (x, w), g)",
             {"x": "nchw:grad", "w": "weight3:grad", "g": "nchw"}, sizes=TO_16_MB),
        Case("max_pool", "F.max_pool2d(x, 3, 2, 1)", _NCHW, sizes=TO_16_MB[1:]),
        Case("avg_pool", "F.avg_pool2d(x, 2)", _NCHW, sizes=TO_16_MB[1:]),
        Case("adaptive_avg_pool", "F.adaptive_avg_pool2d(x, 1)", _NCHW, sizes=TO_16_MB),
        Case("max_pool gradient", "library.autograd.grad(F.max_pool2d(x, 2), x, g)",
             {"x": "nchw:grad", "g": "halved"}, sizes=TO_16_MB[1:]),
        Case("bilinear", "F.interpolate(x, scale_factor=2.0, mode='bilinear')", _NCHW,
             sizes=TO_1_MB[1:]),
        Case("nearest", "F.interpolate(x, scale_factor=2.0, mode='nearest')", _NCHW,
             sizes=TO_1_MB[1:]),
        Case("pixel_shuffle", "pixel_shuffle(x)", _NCHW, sizes=TO_16_MB[1:]),
        Case("unfold", "F.unfold(x, 3, 1, 1)", _NCHW, sizes=TO_1_MB),
    ],
    "optimizer": [
        Case("sgd", "sgd.step()", {"p": "n:grad"}, sizes=TO_16_MB),
        Case("adamw", "adamw.step()", {"p": "n:grad"}, sizes=TO_16_MB),
    ],
}  # fmt: skip


def metric(case: Case, size: str) -> str:
    """The name of a case in a size class, in results."""
    return f"{case.name} / {size}"


def out_metric(case: Case, size: str) -> str:
    """The same where PyTorch writes to a result that was there."""
    return f"{case.name} / {size} / out"
