// The rules of ops that slide windows over spatial dimensions: convolution, pooling, resampling.
//
// Operands are (N, C, d1, ..., dk) with k of 1 to 3. Thread safety: pure functions.
#ifndef ONEFLOW_OP_RULES_SPATIAL_H_
#define ONEFLOW_OP_RULES_SPATIAL_H_

#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/op/op_def.h"

namespace oneflow {

// RuntimeError unless input `i` has 3 to 5 dimensions, and as many spatial ones as `expected` says
// (0: any).
Maybe<void> CheckSpatialInput(const InferContext& context, int i, int expected);

// RuntimeError unless a list of attributes has one number for each spatial dimension, none below
// `least`.
Maybe<void> CheckSpatialList(const InferContext& context, const char* what, const SpatialList& list,
                             int spatial, int64_t least);

// The size of dimension `d` (of the spatial ones) with its padding; RuntimeError above kMostPadded.
inline constexpr int64_t kMostPadded = int64_t{1} << 48;
Maybe<int64_t> PaddedSize(const InferContext& context, int d, int64_t size, int64_t before,
                          int64_t after);

// rules_conv.cc: ConvAttrs.
// input, weight, bias or nothing -> output.
Maybe<void> InferConvolution(const InferContext& context, TensorMeta* outputs);
// grad, weight, bias of the result or nothing -> gradient by input, of spatial sizes `size`.
Maybe<void> InferConvInputGrad(const InferContext& context, TensorMeta* outputs);
// grad, input -> gradient by weight, of kernel sizes `size`.
Maybe<void> InferConvWeightGrad(const InferContext& context, TensorMeta* outputs);
// rules_blocked.cc: arrays (N, C / 16, H, W, 16) with kChannelBlock channels side by side.
// (N, C, H, W) to blocks, and back.
Maybe<void> InferBlockChannels(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferUnblockChannels(const InferContext& context, TensorMeta* outputs);
// ConvAttrs; as the rules above, with blocked activations and plain weights. The input may be plain.
Maybe<void> InferBlockedConvolution(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferBlockedConvInputGrad(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferBlockedConvWeightGrad(const InferContext& context, TensorMeta* outputs);
// PoolAttrs: the maximum and its pixel, int32. Back: SpatialSizeAttrs, the gradient and those pixels.
Maybe<void> InferBlockedMaxPool(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferBlockedMaxPoolBackward(const InferContext& context, TensorMeta* outputs);
// UnfoldAttrs: (N, C, H, W) -> (N, C kh kw, positions), and back.
Maybe<void> InferUnfold(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferFold(const InferContext& context, TensorMeta* outputs);

// rules_pool.cc
// PoolAttrs: the maximum and where it was (int64, in the input's spatial dimensions taken as one).
Maybe<void> InferMaxPool(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferAvgPool(const InferContext& context, TensorMeta* outputs);
// Spatial sizes of the result are `size`.
Maybe<void> InferAvgPoolGrad(const InferContext& context, TensorMeta* outputs);
// SpatialSizeAttrs.
Maybe<void> InferAdaptivePool(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferAdaptiveMaxPool(const InferContext& context, TensorMeta* outputs);
// values and indices of one shape (N, C, ...) -> (N, C, size...).
Maybe<void> InferScatterPixels(const InferContext& context, TensorMeta* outputs);
// (N, C, ...), and indices (N, C, ...) into it -> the indices' shape.
Maybe<void> InferGatherPixels(const InferContext& context, TensorMeta* outputs);

// rules_vision.cc
// UpsampleAttrs: (N, C, ...) -> (N, C, size...).
Maybe<void> InferUpsample(const InferContext& context, TensorMeta* outputs);
// GridSampleAttrs.
Maybe<void> InferGridSample(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferGridSampleGrad(const InferContext& context, TensorMeta* outputs);
// AffineBaseGridAttrs: (H W, 3), or (D H W, 4).
Maybe<void> InferAffineBaseGrid(const InferContext& context, TensorMeta* outputs);
// ShuffleAttrs: (N, C h w, H, W) -> (N, C, H h, W w), and back.
Maybe<void> InferShufflePixels(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferUnshufflePixels(const InferContext& context, TensorMeta* outputs);
// RoiAlignAttrs.
Maybe<void> InferRoiAlign(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferRoiAlignGrad(const InferContext& context, TensorMeta* outputs);
// NmsAttrs: boxes (n, 4) -> int8 (n,).
Maybe<void> InferNms(const InferContext& context, TensorMeta* outputs);
// DeformAttrs: input, offset, mask or nothing -> columns.
Maybe<void> InferDeformColumns(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferDeformColumnsGrad(const InferContext& context, TensorMeta* outputs);

// rules_spatial_sbp.cc
// The batch of the first operand, and of all results, may be split.
Maybe<void> SbpBatch(const InferContext& context, SbpSignatureList* out);
// The batch of all operands, and of all results.
Maybe<void> SbpBatchOfAll(const InferContext& context, SbpSignatureList* out);
// The same, and the result is a partial sum.
Maybe<void> SbpSumOverBatch(const InferContext& context, SbpSignatureList* out);

}  // namespace oneflow

#endif  // ONEFLOW_OP_RULES_SPATIAL_H_
