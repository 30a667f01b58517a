#include <algorithm>
#include <limits>
#include <vector>

#include "oneflow/functional/composites.h"
#include "oneflow/functional/composites_linalg.h"
#include "oneflow/functional/einsum_equation.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

using Labels = std::vector<int>;

constexpr int kMaxLabels = kFirstEllipsisLabel + kMaxDims;
// Up to so many operands, every order of contraction is looked at.
constexpr size_t kMaxExhaustive = 5;

// A tensor whose dims have names; no name twice.
struct Named {
  TensorPtr tensor;
  Labels labels;

  int Find(int label) const {
    const auto at = std::find(labels.begin(), labels.end(), label);
    return at == labels.end() ? -1 : static_cast<int>(at - labels.begin());
  }
  bool Has(int label) const { return Find(label) >= 0; }
  int64_t Size(int label) const { return tensor->shape()[Find(label)]; }
};

// Dims of one name become one dim, their diagonal.
Maybe<Named> WithoutRepeats(Named x) {
  for (size_t i = 0; i < x.labels.size(); ++i) {
    for (size_t j = i + 1; j < x.labels.size();) {
      if (x.labels[i] != x.labels[j]) {
        ++j;
        continue;
      }
      const int a = static_cast<int>(i), b = static_cast<int>(j);
      const int64_t n = x.tensor->shape()[a];
      if (x.tensor->shape()[b] != n) {
        return RuntimeError("[einsum] expects dims of one label to have one size, got {} and {} in "
                            "{}",
                            n, x.tensor->shape()[b], x.tensor->shape());
      }
      // Both dims last, as one of n * n, of which every (n + 1)-th element lies on the diagonal.
      Dims order;
      for (int d = 0; d < x.tensor->ndim(); ++d) {
        if (d != a && d != b) { order.PushBack(d); }
      }
      Dims shape;
      for (const int64_t d : order) { shape.PushBack(x.tensor->shape()[static_cast<int>(d)]); }
      const int rest = order.size();
      order.PushBack(a);
      order.PushBack(b);
      shape.PushBack(n * n);
      const TensorPtr flat = JUST(reshape(JUST(permute(x.tensor, order)), shape));
      const TensorPtr diagonal = JUST(slice(flat, rest, 0, n * n, n + 1));
      // The diagonal goes back to place i.
      Dims back;
      for (int d = 0; d < rest; ++d) {
        if (d == a) { back.PushBack(rest); }
        back.PushBack(d);
      }
      if (a == rest) { back.PushBack(rest); }
      x.tensor = JUST(permute(diagonal, back));
      x.labels.erase(x.labels.begin() + b);
    }
  }
  return x;
}

Maybe<Named> SumOver(const Named& x, const Labels& gone) {
  if (gone.empty()) { return x; }
  Dims dims;
  Named out;
  for (const int label : x.labels) {
    if (std::count(gone.begin(), gone.end(), label) > 0) {
      dims.PushBack(x.Find(label));
    } else {
      out.labels.push_back(label);
    }
  }
  out.tensor = JUST(sum(x.tensor, dims, false));
  return out;
}

// Dims of size 1 under these labels are dropped.
Maybe<Named> Dropped(const Named& x, const Labels& gone) {
  if (gone.empty()) { return x; }
  Named out;
  Dims shape;
  for (const int label : x.labels) {
    if (std::count(gone.begin(), gone.end(), label) > 0) { continue; }
    out.labels.push_back(label);
    shape.PushBack(x.Size(label));
  }
  out.tensor = JUST(reshape(x.tensor, shape));
  return out;
}

// x with its dims in the order of the groups, each group as one dim.
Maybe<TensorPtr> Grouped(const Named& x, const std::vector<const Labels*>& groups) {
  Dims order, shape;
  for (const Labels* group : groups) {
    int64_t size = 1;
    for (const int label : *group) {
      order.PushBack(x.Find(label));
      size *= x.Size(label);
    }
    shape.PushBack(size);
  }
  return reshape(JUST(permute(x.tensor, order)), shape);
}

// The labels of two operands by what becomes of them.
struct Roles {
  Labels batch, left, right, summed;  // of both and kept; of one and kept; of both and not kept

  Roles(const Named& a, const Named& b, const std::vector<bool>& kept) {
    for (const int label : a.labels) {
      const bool keeps = kept[static_cast<size_t>(label)];
      (!b.Has(label) ? left : keeps ? batch : summed).push_back(label);
    }
    for (const int label : b.labels) {
      if (!a.Has(label)) { right.push_back(label); }
    }
  }
};

void Append(const Labels& from, Labels* to) { to->insert(to->end(), from.begin(), from.end()); }

// The product of two operands without anything to sum over, or with nothing but that.
Maybe<Named> MultiplyElements(const Named& a, const Named& b, const Roles& roles) {
  Named out;
  Append(roles.batch, &out.labels);
  Append(roles.left, &out.labels);
  Append(roles.right, &out.labels);
  Append(roles.summed, &out.labels);
  const auto aligned = [&](const Named& x) -> Maybe<TensorPtr> {
    Dims order, shape;
    for (const int label : out.labels) {
      const int at = x.Find(label);
      if (at >= 0) { order.PushBack(at); }
      shape.PushBack(at >= 0 ? x.tensor->shape()[at] : 1);
    }
    return reshape(JUST(permute(x.tensor, order)), shape);
  };
  out.tensor = JUST(mul(JUST(aligned(a)), JUST(aligned(b))));
  return SumOver(out, roles.summed);
}

Maybe<Named> MultiplyMatrices(const Named& a, const Named& b, const Roles& roles) {
  Named out;
  Append(roles.batch, &out.labels);
  Append(roles.left, &out.labels);
  Append(roles.right, &out.labels);
  Dims shape;
  for (const int label : out.labels) {
    shape.PushBack(a.Has(label) ? a.Size(label) : b.Size(label));
  }
  TensorPtr x, y;
  if (roles.batch.empty()) {
    x = JUST(Grouped(a, {&roles.left, &roles.summed}));
    y = JUST(Grouped(b, {&roles.summed, &roles.right}));
  } else {
    x = JUST(Grouped(a, {&roles.batch, &roles.left, &roles.summed}));
    y = JUST(Grouped(b, {&roles.batch, &roles.summed, &roles.right}));
  }
  out.tensor = JUST(reshape(JUST(matmul_nd(x, y)), shape));
  return out;
}

// Contracts two operands; `kept` are the labels that the result or another operand still needs.
Maybe<Named> Contract(Named a, Named b, const std::vector<bool>& kept) {
  // A label of size 1 beside a longer one repeats: it is as if it were not there.
  Labels drop_a, drop_b;
  for (const int label : a.labels) {
    if (!b.Has(label) || a.Size(label) == b.Size(label)) { continue; }
    (a.Size(label) == 1 ? drop_a : drop_b).push_back(label);
  }
  a = JUST(Dropped(a, drop_a));
  b = JUST(Dropped(b, drop_b));
  for (Named* x : {&a, &b}) {
    const Named& other = x == &a ? b : a;
    Labels alone;
    for (const int label : x->labels) {
      if (!kept[static_cast<size_t>(label)] && !other.Has(label)) { alone.push_back(label); }
    }
    *x = JUST(SumOver(*x, alone));
  }
  const Roles roles(a, b, kept);
  const bool elementwise =
      roles.summed.empty() || (roles.left.empty() && roles.right.empty() && !roles.batch.empty());
  return elementwise ? MultiplyElements(a, b, roles) : MultiplyMatrices(a, b, roles);
}

// ---- the order of contraction -------------------------------------------------------------------

using LabelSet = std::vector<bool>;

class Planner {
 public:
  Planner(const std::vector<Named>& operands, const Labels& result)
      : sizes_(kMaxLabels, 1), result_(kMaxLabels, false) {
    for (const int label : result) { result_[static_cast<size_t>(label)] = true; }
    for (const Named& x : operands) {
      for (const int label : x.labels) {
        double& size = sizes_[static_cast<size_t>(label)];
        size = std::max(size, static_cast<double>(x.Size(label)));
      }
    }
  }

  // The pair to contract first.
  std::pair<size_t, size_t> Next(const std::vector<Named>& operands) const {
    std::vector<LabelSet> sets;
    for (const Named& x : operands) {
      sets.emplace_back(kMaxLabels, false);
      for (const int label : x.labels) { sets.back()[static_cast<size_t>(label)] = true; }
    }
    std::pair<size_t, size_t> best{0, 1};
    Search(sets, sets.size() <= kMaxExhaustive, &best);
    return best;
  }

  // The labels that the result or an operand other than a and b needs.
  LabelSet Kept(const std::vector<LabelSet>& sets, size_t a, size_t b) const {
    LabelSet kept = result_;
    for (size_t i = 0; i < sets.size(); ++i) {
      if (i == a || i == b) { continue; }
      for (size_t l = 0; l < kept.size(); ++l) { kept[l] = kept[l] || sets[i][l]; }
    }
    return kept;
  }

 private:
  // The multiplications of the best order; the first pair of it goes to `best`.
  double Search(const std::vector<LabelSet>& sets, bool whole,
                std::pair<size_t, size_t>* best) const {
    if (sets.size() < 2) { return 0; }
    double least = std::numeric_limits<double>::infinity();
    for (size_t a = 0; a < sets.size(); ++a) {
      for (size_t b = a + 1; b < sets.size(); ++b) {
        LabelSet joined(kMaxLabels, false);
        double cost = 1;
        for (size_t l = 0; l < joined.size(); ++l) {
          joined[l] = sets[a][l] || sets[b][l];
          if (joined[l]) { cost *= sizes_[l]; }
        }
        if (whole && cost < least) { cost += Rest(sets, a, b, joined); }
        if (cost >= least) { continue; }
        least = cost;
        *best = {a, b};
      }
    }
    return least;
  }

  double Rest(const std::vector<LabelSet>& sets, size_t a, size_t b, LabelSet joined) const {
    const LabelSet kept = Kept(sets, a, b);
    for (size_t l = 0; l < joined.size(); ++l) { joined[l] = joined[l] && kept[l]; }
    std::vector<LabelSet> next;
    for (size_t i = 0; i < sets.size(); ++i) {
      if (i != a && i != b) { next.push_back(sets[i]); }
    }
    next.push_back(joined);
    std::pair<size_t, size_t> ignored;
    return Search(next, true, &ignored);
  }

  std::vector<double> sizes_;
  LabelSet result_;
};

LabelSet KeptBy(const std::vector<Named>& operands, const Labels& result) {
  LabelSet kept(kMaxLabels, false);
  for (const int label : result) { kept[static_cast<size_t>(label)] = true; }
  for (const Named& x : operands) {
    for (const int label : x.labels) { kept[static_cast<size_t>(label)] = true; }
  }
  return kept;
}

// The one operand that is left, summed over what is no label of the result, in its order.
Maybe<TensorPtr> Finished(const Named& x, const Labels& result) {
  Labels gone;
  for (const int label : x.labels) {
    if (std::count(result.begin(), result.end(), label) == 0) { gone.push_back(label); }
  }
  const Named left = JUST(SumOver(x, gone));
  Dims order;
  for (const int label : result) { order.PushBack(left.Find(label)); }
  bool in_order = true;
  for (int i = 0; i < order.size(); ++i) { in_order = in_order && order[i] == i; }
  return in_order ? left.tensor : JUST(permute(left.tensor, order));
}

Maybe<void> CheckSizes(const std::vector<Named>& operands, const std::string& equation) {
  std::vector<int64_t> sizes(kMaxLabels, 1);
  for (const Named& x : operands) {
    for (const int label : x.labels) {
      int64_t& size = sizes[static_cast<size_t>(label)];
      const int64_t own = x.Size(label);
      if (size != 1 && own != 1 && own != size) {
        return RuntimeError("[einsum] expects operands whose dims of one label have one size, got "
                            "sizes {} and {} in '{}'",
                            size, own, equation);
      }
      size = own == 1 ? size : own;
    }
  }
  return Ok();
}

}  // namespace

Maybe<TensorPtr> Einsum(const std::string& equation, const TensorTuple& operands) {
  if (operands.empty()) { return RuntimeError("[einsum] expects at least one operand, got none"); }
  std::vector<Dims> shapes;
  for (const TensorPtr& operand : operands) { shapes.push_back(operand->shape()); }
  const EinsumEquation parsed = JUST(ParseEinsum(equation, shapes));
  std::vector<Named> left;
  for (size_t i = 0; i < operands.size(); ++i) {
    left.push_back(JUST(WithoutRepeats(Named{operands[i], parsed.operands[i]})));
  }
  JUST(CheckSizes(left, equation));
  const Planner planner(left, parsed.result);
  while (left.size() > 1) {
    const auto [a, b] = planner.Next(left);
    const Named first = left[a], second = left[b];
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(b));
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(a));
    left.push_back(JUST(Contract(first, second, KeptBy(left, parsed.result))));
  }
  return Finished(left[0], parsed.result);
}

namespace {

Maybe<int64_t> ContractedDim(const TensorPtr& x, int64_t dim, Dims* seen) {
  const int n = x->ndim();
  if (dim < -n || dim >= n) {
    return IndexError("[tensordot] expects dims of {}, got {}", x->shape(), dim);
  }
  const int64_t wrapped = dim < 0 ? dim + n : dim;
  for (const int64_t other : *seen) {
    if (other == wrapped) {
      return RuntimeError("[tensordot] expects each dim of {} once, got dim {} again", x->shape(),
                          wrapped);
    }
  }
  seen->PushBack(wrapped);
  return wrapped;
}

// x as a matrix with the dims `second` as columns; the sizes of the others are added to `shape`.
Maybe<TensorPtr> AsMatrixOf(const TensorPtr& x, const Dims& summed, bool summed_first,
                            Dims* shape) {
  Dims kept;
  int64_t rows = 1, columns = 1;
  for (int d = 0; d < x->ndim(); ++d) {
    if (std::count(summed.begin(), summed.end(), d) > 0) { continue; }
    kept.PushBack(d);
    rows *= x->shape()[d];
    shape->PushBack(x->shape()[d]);
  }
  for (const int64_t d : summed) { columns *= x->shape()[static_cast<int>(d)]; }
  Dims order = summed_first ? summed : kept;
  for (const int64_t d : summed_first ? kept : summed) { order.PushBack(d); }
  const Dims matrix = summed_first ? Dims{columns, rows} : Dims{rows, columns};
  return reshape(JUST(permute(x, order)), matrix);
}

// Where one size is 1 and the other is not, the longer side is summed over first.
Maybe<TensorPtr> SummedWhereBroadcast(const TensorPtr& x, const Dims& own, const TensorPtr& other,
                                      const Dims& others) {
  Dims dims;
  for (int i = 0; i < own.size(); ++i) {
    const int64_t size = x->shape()[static_cast<int>(own[i])];
    if (size != 1 && other->shape()[static_cast<int>(others[i])] == 1) { dims.PushBack(own[i]); }
  }
  return dims.empty() ? x : JUST(sum(x, dims, true));
}

}  // namespace

Maybe<TensorPtr> Tensordot(const TensorPtr& a, const TensorPtr& b, const Dims& dims_a,
                           const Dims& dims_b) {
  if (dims_a.size() != dims_b.size()) {
    return RuntimeError(
        "[tensordot] expects as many dims of the first as of the second, got {} and "
        "{}",
        dims_a, dims_b);
  }
  if (a->dtype() != b->dtype()) {
    return RuntimeError("[tensordot] expects operands of one dtype, got {} and {}",
                        DataTypeName(a->dtype()), DataTypeName(b->dtype()));
  }
  Dims first, second;
  for (int i = 0; i < dims_a.size(); ++i) {
    const int64_t x = a->shape()[static_cast<int>(JUST(ContractedDim(a, dims_a[i], &first)))];
    const int64_t y = b->shape()[static_cast<int>(JUST(ContractedDim(b, dims_b[i], &second)))];
    if (x != y && x != 1 && y != 1) {
      return RuntimeError("[tensordot] expects dim {} of {} to be as long as dim {} of {}, got {} "
                          "and {}",
                          first[i], a->shape(), second[i], b->shape(), x, y);
    }
  }
  const TensorPtr left = JUST(SummedWhereBroadcast(a, first, b, second));
  const TensorPtr right = JUST(SummedWhereBroadcast(b, second, a, first));
  Dims shape;
  const TensorPtr x = JUST(AsMatrixOf(left, first, false, &shape));
  const TensorPtr y = JUST(AsMatrixOf(right, second, true, &shape));
  return reshape(JUST(matmul_nd(x, y)), shape);
}

Maybe<TensorPtr> TensordotInt(const TensorPtr& a, const TensorPtr& b, int64_t dims) {
  if (dims < 0) {
    return RuntimeError("[tensordot] expects a number of dims of at least 0, got {}", dims);
  }
  if (dims > a->ndim() || dims > b->ndim()) {
    return RuntimeError("[tensordot] expects no more dims than {} and {} have, got {}", a->shape(),
                        b->shape(), dims);
  }
  Dims first, second;
  for (int i = 0; i < static_cast<int>(dims); ++i) {
    first.PushBack(a->ndim() - static_cast<int>(dims) + i);
    second.PushBack(i);
  }
  return Tensordot(a, b, first, second);
}

}  // namespace oneflow::functional::composites
