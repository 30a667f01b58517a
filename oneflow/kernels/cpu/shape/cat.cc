// The kernels cat and stack: rows of the result are made of one block of each operand.
#include <algorithm>
#include <cstring>
#include <vector>

#include "oneflow/core/dims.h"
#include "oneflow/core/shape.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_shape.h"
#include "oneflow/kernels/cpu/copy.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/shape/row_loops.h"
#include "oneflow/kernels/cpu/stream_loops.h"
#include "oneflow/kernels/cpu/strided_loop.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kGrainBytes = 128 * 1024;
// A block of rows that are woven together, and the number that its rows are a multiple of, so that all
// blocks begin at a cache line.
constexpr int64_t kWeaveBytes = 8192;
constexpr int64_t kWeaveRows = 64;

// One operand's share of each row of the result.
struct Block {
  const ArrayView* view;
  int64_t start;  // bytes from the beginning of a row
  int64_t bytes;
};

// The result as `count` rows of `bytes`.
struct Rows {
  int64_t count = 1;
  int64_t bytes = 0;
};

int64_t Product(const ArrayView& view, int begin, int end) {
  int64_t product = 1;
  for (int i = begin; i < end; ++i) { product *= view.shape[i]; }
  return product;
}

std::vector<Block> FindBlocks(const KernelCall& call, int dim, Rows* rows) {
  const ArrayView& out = call.outputs[0];
  const auto size = static_cast<int64_t>(SizeOf(out.dtype));
  rows->count = Product(out, 0, dim);
  rows->bytes = Product(out, dim, out.ndim) * size;
  std::vector<Block> blocks;
  blocks.reserve(static_cast<size_t>(call.num_inputs));
  int64_t start = 0;
  for (int i = 0; i < call.num_inputs; ++i) {
    const ArrayView& view = call.inputs[i];
    if (view.Count() == 0) { continue; }
    const int64_t bytes = Product(view, dim, view.ndim) * size;
    blocks.push_back({&view, start, bytes});
    start += bytes;
  }
  return blocks;
}

// Blocks of one element: a strided copy for each operand.
void CopyElements(const KernelCall& call, const std::vector<Block>& blocks, const Rows& rows) {
  char* out = call.outputs[0].Data<char>();
  const int64_t grain = std::max<int64_t>(1, kGrainBytes / rows.bytes);
  ParallelFor(call.threads, rows.count, grain, [&](int64_t begin, int64_t end) {
    for (const Block& block : blocks) {
      if (!block.view->contiguous) { continue; }
      CopyRun(out + begin * rows.bytes + block.start, rows.bytes,
              block.view->Data<char>() + begin * block.bytes, block.bytes,
              static_cast<int>(block.bytes), end - begin);
    }
  });
}

// The same, all of them dense: woven together, block by block.
void WeaveElements(const KernelCall& call, const std::vector<Block>& blocks, const Rows& rows) {
  const int64_t size = blocks.front().bytes;
  const auto count = static_cast<int64_t>(blocks.size());
  const auto weave = RowLoopsOf(size).weave;
  char* out = call.outputs[0].Data<char>();
  const bool past = WorthStreaming(out, rows.count * rows.bytes, 2 * rows.count * rows.bytes);
  const int64_t step = kWeaveBytes / rows.bytes / kWeaveRows * kWeaveRows;
  const int64_t grain = std::max<int64_t>(1, kGrainBytes / rows.bytes / step) * step;
  ParallelFor(call.threads, rows.count, grain, [&](int64_t begin, int64_t end) {
    alignas(64) char woven[kWeaveBytes];
    const void* from[kWeaveBytes / kWeaveRows];
    for (int64_t at = begin; at < end; at += step) {
      const int64_t n = std::min(step, end - at);
      char* to = out + at * rows.bytes;
      for (int64_t k = 0; k < count; ++k) { from[k] = blocks[k].view->Data<char>() + at * size; }
      weave(past ? woven : to, from, count, n);
      if (past) { GetStreamLoops().copy(to, woven, n * rows.bytes); }
    }
    if (past) { GetStreamLoops().fence(); }
  });
}

// Copies bytes [begin, end) of the result.
void CopyBytes(const KernelCall& call, const std::vector<Block>& blocks, const Rows& rows,
               int64_t begin, int64_t end) {
  char* out = call.outputs[0].Data<char>();
  int64_t row = begin / rows.bytes;
  int64_t at = begin % rows.bytes;
  auto block = std::upper_bound(blocks.begin(), blocks.end(), at,
                                [](int64_t x, const Block& b) { return x < b.start; }) -
               1;
  while (begin < end) {
    const int64_t n = std::min(block->start + block->bytes - at, end - begin);
    if (block->view->contiguous) {
      std::memcpy(out + begin, block->view->Data<char>() + row * block->bytes + (at - block->start),
                  static_cast<size_t>(n));
    }
    begin += n;
    at += n;
    if (at < block->start + block->bytes) { continue; }
    if (++block == blocks.end()) {
      block = blocks.begin();
      at = 0;
      ++row;
    }
  }
}

// Whole rows of dense operands.
void CopyRows(const KernelCall& call, const std::vector<Block>& blocks, const Rows& rows) {
  char* out = call.outputs[0].Data<char>();
  const int64_t grain = std::max<int64_t>(1, kGrainBytes / rows.bytes);
  ParallelFor(call.threads, rows.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      char* to = out + row * rows.bytes;
      for (const Block& block : blocks) {
        std::memcpy(to + block.start, block.view->Data<char>() + row * block.bytes,
                    static_cast<size_t>(block.bytes));
      }
    }
  });
}

bool OfOneElement(const std::vector<Block>& blocks, int64_t size) {
  for (const Block& block : blocks) {
    if (block.bytes != size) { return false; }
  }
  return true;
}

// An operand that does not lie densely: a copy into its part of the result.
void CopyPart(const KernelCall& call, const Block& block, int dim, bool stacks) {
  const ArrayView& out = call.outputs[0];
  Strides strides(out.strides, out.ndim);
  if (stacks) { strides.Erase(dim); }
  ArrayView part = *block.view;
  part.data = out.Data<char>() + block.start;
  part.strides = strides.data();
  part.contiguous = false;
  CopyArray(part, *block.view, call.threads);
}

Maybe<void> Run(const KernelCall& call, bool stacks) {
  const int dim = static_cast<int>(call.GetAttrs<CatAttrs>().dim);
  const ArrayView& out = call.outputs[0];
  Rows rows;
  const std::vector<Block> blocks = FindBlocks(call, dim, &rows);
  if (blocks.empty()) { return Ok(); }
  bool any_dense = false;
  bool all_dense = true;
  for (const Block& block : blocks) {
    any_dense = any_dense || block.view->contiguous;
    all_dense = all_dense && block.view->contiguous;
    if (!block.view->contiguous) { CopyPart(call, block, dim, stacks); }
  }
  if (!any_dense) { return Ok(); }
  if (rows.count > 1 && OfOneElement(blocks, static_cast<int64_t>(SizeOf(out.dtype)))) {
    if (all_dense && rows.bytes <= kWeaveBytes / kWeaveRows) {
      WeaveElements(call, blocks, rows);
    } else {
      CopyElements(call, blocks, rows);
    }
    return Ok();
  }
  if (all_dense && rows.bytes <= kGrainBytes) {
    CopyRows(call, blocks, rows);
    return Ok();
  }
  ParallelFor(call.threads, rows.count * rows.bytes, kGrainBytes,
              [&](int64_t begin, int64_t end) { CopyBytes(call, blocks, rows, begin, end); });
  return Ok();
}

Maybe<void> RunCat(const KernelCall& call) { return Run(call, false); }
Maybe<void> RunStack(const KernelCall& call) { return Run(call, true); }

const char* Accept(const KernelCall& call) {
  return call.outputs[0].contiguous ? nullptr : "output is not dense";
}

double Cost(const KernelCall& call) {
  const ArrayView& out = call.outputs[0];
  const int dim = static_cast<int>(call.GetAttrs<CatAttrs>().dim);
  const double copies = static_cast<double>(Product(out, 0, dim)) * call.num_inputs;
  const bool woven = copies >= static_cast<double>(out.Count());
  return ElementwiseCostNs(call) + (woven ? 0.5 : 5.0) * copies;
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(cat, {"cat.cpu.blocks", &RunCat, &Accept, &Cost});
ONEFLOW_REGISTER_KERNEL(stack, {"stack.cpu.blocks", &RunStack, &Accept, &Cost});

}  // namespace cpu
}  // namespace oneflow
