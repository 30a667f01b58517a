// ConvGeometry: one of the three calls of a convolution (forward, gradient by input, gradient by
// weight) reduced to sizes. In all three `src` is the convolution's input, `dst` its output.
//
// Thread safety: a value; pure functions. Ownership: borrows the operands.
#ifndef ONEFLOW_KERNELS_CPU_CONV_CONV_GEOMETRY_H_
#define ONEFLOW_KERNELS_CPU_CONV_CONV_GEOMETRY_H_

#include <cstdint>

#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

enum class ConvKind : int { kForward, kInputGrad, kWeightGrad };
// convolution(src, weight, bias?) -> dst; convolution_input_grad(dst, weight, bias?) -> src (a bias
// is added to src: a transposed convolution); convolution_weight_grad(dst, src) -> weight.
const char* ConvName(ConvKind kind);

struct ConvOperands {
  const ArrayView* src;
  const ArrayView* weight;
  const ArrayView* dst;
  const ArrayView* bias;  // nullptr: none
};
ConvOperands OperandsOf(ConvKind kind, const KernelCall& call);

// Spatial lists are filled up to three dimensions with neutral ones in front.
struct ConvGeometry {
  int spatial = 2;  // how many dimensions there really are
  int64_t batch = 0;
  int64_t groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // of all groups
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];

  int64_t InPixels() const { return in[0] * in[1] * in[2]; }
  int64_t OutPixels() const { return out[0] * out[1] * out[2]; }
  int64_t KernelPixels() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t InPerGroup() const { return in_channels / groups; }
  int64_t OutPerGroup() const { return out_channels / groups; }
  // Rows of the matrix of columns of one group.
  int64_t ColumnRows() const { return InPerGroup() * KernelPixels(); }
  bool Empty() const;  // nothing to multiply
  double Flops() const;
  // A kernel of one pixel without padding.
  bool IsPointwise() const;
  // Each size and number: what oneDNN's generated code can count.
  bool Has31Bits() const;
  bool HasUnitStride() const { return stride[0] == 1 && stride[1] == 1 && stride[2] == 1; }
};
ConvGeometry GeometryOf(ConvKind kind, const KernelCall& call);

// How an array of (N, C, ...) lies: dense as its shape says, with its channels innermost, or with 16 of them innermost
// (blocked_shapes.h; of a weight, 16 of either kind).
enum class ConvLayout : int { kPlain, kChannelsLast, kOther, kBlocked };
// Never kBlocked, which strides do not say.
ConvLayout LayoutOf(const ArrayView& view);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_CONV_GEOMETRY_H_
