// The rows of the families shape, join and random that are written in other ops, and the helpers that
// turn their parameters into attributes. See composites.h and attr_helpers.h.
//
// Thread safety: as functional calls.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_SHAPE_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_SHAPE_H_

#include <optional>
#include <string>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/core/generator.h"
#include "oneflow/core/scalar.h"
#include "oneflow/kernels/attr_types.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional {

// Which dim of a list of tensors `dim` is; of the result of stack.
Maybe<int64_t> CatDim(const char* op, const TensorTuple& tensors, int64_t dim);
Maybe<int64_t> StackDim(const char* op, const TensorTuple& tensors, int64_t dim);
// high - low, as RandintAttrs has it.
Maybe<uint64_t> RandintRange(const char* op, int64_t low, int64_t high);
Maybe<DataType> Int64Unless(const char* op, std::optional<DataType> dtype);
// The dtype of draws of bernoulli: the probabilities', or float32.
Maybe<DataType> BernoulliDtype(const char* op, const TensorPtr& input,
                               std::optional<DataType> dtype);

}  // namespace oneflow::functional

namespace oneflow::functional::composites {

using IndexList = std::vector<int64_t>;

// composites_join.cc
Maybe<TensorTuple> CatBackward(const TensorPtr& dy, const std::vector<Dims>& shapes, int64_t dim);
Maybe<TensorTuple> Unbind(const TensorPtr& input, int64_t dim);
Maybe<TensorTuple> SplitSections(const TensorPtr& input, const IndexList& sizes, int64_t dim);
Maybe<TensorTuple> Split(const TensorPtr& input, int64_t size, int64_t dim);
Maybe<TensorTuple> SplitLike(const TensorPtr& input, const TensorTuple& like, int64_t axis);
Maybe<TensorTuple> Chunk(const TensorPtr& input, int64_t chunks, int64_t dim);
Maybe<TensorTuple> TensorSplit(const TensorPtr& input, int64_t sections, int64_t dim);
Maybe<TensorTuple> TensorSplitAt(const TensorPtr& input, const IndexList& indices, int64_t dim);
Maybe<TensorTuple> Hsplit(const TensorPtr& input, int64_t sections);
Maybe<TensorTuple> HsplitAt(const TensorPtr& input, const IndexList& indices);
Maybe<TensorTuple> Vsplit(const TensorPtr& input, int64_t sections);
Maybe<TensorTuple> VsplitAt(const TensorPtr& input, const IndexList& indices);
Maybe<TensorPtr> Atleast1d(const TensorPtr& input);
Maybe<TensorPtr> Atleast2d(const TensorPtr& input);
Maybe<TensorPtr> Atleast3d(const TensorPtr& input);
Maybe<TensorTuple> AllAtleast1d(const TensorTuple& tensors);
Maybe<TensorTuple> AllAtleast2d(const TensorTuple& tensors);
Maybe<TensorTuple> AllAtleast3d(const TensorTuple& tensors);
Maybe<TensorPtr> Hstack(const TensorTuple& tensors);
Maybe<TensorPtr> Vstack(const TensorTuple& tensors);
Maybe<TensorPtr> Dstack(const TensorTuple& tensors);
Maybe<TensorPtr> ColumnStack(const TensorTuple& tensors);
Maybe<TensorTuple> Meshgrid(const TensorTuple& tensors, const std::string& indexing);
Maybe<TensorTuple> BroadcastTensors(const TensorTuple& tensors);

// composites_shape.cc
Maybe<TensorPtr> ReverseDims(const TensorPtr& input);
Maybe<TensorPtr> TransposePerm(const TensorPtr& input, const IndexList& perm);
Maybe<TensorPtr> MovedimOne(const TensorPtr& input, int64_t source, int64_t destination);
Maybe<TensorPtr> Movedim(const TensorPtr& input, const Dims& source, const Dims& destination);
Maybe<TensorPtr> UnsqueezeMultiple(const TensorPtr& input, const Dims& dim, int64_t dims);
Maybe<TensorPtr> BroadcastLike(const TensorPtr& input, const TensorPtr& like, const Dims& axes);
Maybe<TensorPtr> Repeat(const TensorPtr& input, const Dims& repeats);
Maybe<TensorPtr> Tile(const TensorPtr& input, const Dims& dims);
Maybe<TensorPtr> RepeatInterleave(const TensorPtr& input, int64_t repeats,
                                  std::optional<int64_t> dim);
Maybe<TensorPtr> RepeatInterleaveEach(const TensorPtr& input, const TensorPtr& repeats,
                                      std::optional<int64_t> dim,
                                      std::optional<int64_t> output_size);
Maybe<TensorPtr> Roll(const TensorPtr& input, const Dims& shifts, const std::optional<Dims>& dims);
Maybe<TensorPtr> Diag(const TensorPtr& input, int64_t diagonal);
Maybe<TensorPtr> DiagEmbed(const TensorPtr& input, int64_t offset, int64_t dim1, int64_t dim2);
Maybe<TensorPtr> OneHot(const TensorPtr& input, int64_t classes, Scalar on, Scalar off);
Maybe<TensorPtr> Eye(int64_t n, std::optional<int64_t> m, std::optional<DataType> dtype,
                     std::optional<Device> device);
Maybe<TensorPtr> EyeInto(const TensorPtr& input);

// composites_pad.cc
Maybe<TensorPtr> Pad(const TensorPtr& input, const IndexList& pad, const std::string& mode,
                     std::optional<Scalar> value);
Maybe<TensorPtr> ConstantPadBackward(const TensorPtr& dy, const Dims& before, const Dims& after);

// composites_random.cc
Maybe<TensorPtr> Normal(double mean, double std, const Dims& size, std::optional<DataType> dtype,
                        std::optional<Device> device, const GeneratorPtr& generator);
Maybe<TensorPtr> RandintLike(const TensorPtr& input, int64_t low, int64_t high,
                             std::optional<DataType> dtype, std::optional<Device> device,
                             const GeneratorPtr& generator);
Maybe<TensorPtr> RandnLike(const TensorPtr& input, std::optional<DataType> dtype,
                           std::optional<Device> device, const GeneratorPtr& generator);
Maybe<TensorPtr> BernoulliInto(const TensorPtr& input, const GeneratorPtr& generator);
Maybe<TensorPtr> BernoulliOfInto(const TensorPtr& input, double p, const GeneratorPtr& generator);
Maybe<TensorPtr> ExponentialInto(const TensorPtr& input, double lambd,
                                 const GeneratorPtr& generator);
Maybe<TensorPtr> Multinomial(const TensorPtr& input, int64_t num_samples, bool replacement,
                             const GeneratorPtr& generator);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_SHAPE_H_
