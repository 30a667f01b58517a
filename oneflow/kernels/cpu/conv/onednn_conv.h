// One convolution (or gradient of one) by oneDNN: reorders into the layout that its kernel wants,
// the kernel, and a reorder back, as primitives that are made once for each signature.
//
// Thread safety: FindOnednnConv from anywhere; an object belongs to its thread. Nothing throws.
#ifndef ONEFLOW_KERNELS_CPU_CONV_ONEDNN_CONV_H_
#define ONEFLOW_KERNELS_CPU_CONV_ONEDNN_CONV_H_

#include <cstddef>

#include "oneflow/common/maybe.h"
#include "oneflow/kernels/cpu/conv/conv_geometry.h"

namespace oneflow {
namespace cpu {

inline constexpr int kMaxCachedConvs = 512;

// What is computed. Layouts are kPlain or kChannelsLast, and the result's is kPlain; or those of activations are
// kBlocked, in two spatial dimensions, but for a source of few channels, and the weight's may be, too.
struct ConvProblem {
  ConvKind kind;
  ConvGeometry geometry;
  DataType
      dtype;  // float32 or bfloat16; of the weight, too, unless that is float32 (`float_weight`)
  ConvLayout src, weight, dst;
  bool has_bias;  // of a forward convolution
  int threads;
  bool float_weight = false;
};

struct ConvPointers {
  void* src;
  void* weight;
  void* dst;
  void* bias;
};

// Has oneDNN a fast kernel for exactly these layouts? Makes nothing.
bool HasOnednnConv(const ConvProblem& problem);

class OnednnConv;
// nullptr: oneDNN has no fast kernel for the problem. Good until the thread asks for the next one.
OnednnConv* FindOnednnConv(const ConvProblem& problem);
size_t OnednnConvScratchBytes(const OnednnConv& conv);
Maybe<void> ExecuteOnednnConv(OnednnConv* conv, const ConvPointers& at, void* scratch);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_ONEDNN_CONV_H_
