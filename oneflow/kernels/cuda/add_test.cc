// The arithmetic of add.cuda.vector for each dtype: on the host everywhere, and on the GPU where
// there is one. Where there is none, a launch is a clear error.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "oneflow/device/cuda/cuda_device.h"
#include "oneflow/device/cuda/cuda_error.h"
#include "oneflow/device/cuda/cuda_stream.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cuda/add_on_host.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cuda {
namespace {

constexpr char kName[] = "add.cuda.vector";

// Calls f(T()) with the C++ type of `dtype`.
template <typename F>
void WithType(DataType dtype, const F& f) {
  switch (dtype) {
    case DataType::kBool: return f(false);
    case DataType::kUInt8: return f(uint8_t());
    case DataType::kInt8: return f(int8_t());
    case DataType::kInt16: return f(int16_t());
    case DataType::kInt32: return f(int32_t());
    case DataType::kInt64: return f(int64_t());
    case DataType::kFloat16: return f(__half());
    case DataType::kBFloat16: return f(__nv_bfloat16());
    case DataType::kFloat: return f(float());
    case DataType::kDouble: return f(double());
  }
}

// A strided array on the host.
class Array {
 public:
  Array(DataType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides,
        const std::vector<double>& values)
      : dtype_(dtype), shape_(std::move(shape)), strides_(std::move(strides)) {
    bytes_.resize(values.size() * SizeOf(dtype));
    for (size_t i = 0; i < values.size(); ++i) { Set(i, values[i]); }
  }
  Array(DataType dtype, const std::vector<double>& values)
      : Array(dtype, {static_cast<int64_t>(values.size())}, {1}, values) {}

  ArrayView View() const {
    ArrayView view;
    view.data = const_cast<unsigned char*>(bytes_.data());
    view.shape = shape_.data();
    view.strides = strides_.data();
    view.ndim = static_cast<int>(shape_.size());
    view.dtype = dtype_;
    return view;
  }
  std::vector<unsigned char>& bytes() { return bytes_; }
  // In the order of memory.
  std::vector<double> Values() const {
    std::vector<double> values;
    WithType(dtype_, [&](auto zero) {
      using T = decltype(zero);
      for (size_t i = 0; i < bytes_.size(); i += sizeof(T)) {
        T value;
        std::memcpy(&value, &bytes_[i], sizeof(T));
        if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>) {
          values.push_back(static_cast<double>(static_cast<float>(value)));
        } else {
          values.push_back(static_cast<double>(value));
        }
      }
    });
    return values;
  }

 private:
  void Set(size_t i, double number) {
    WithType(dtype_, [&](auto zero) {
      using T = decltype(zero);
      const T value = static_cast<T>(number);
      std::memcpy(&bytes_[i * sizeof(T)], &value, sizeof(T));
    });
  }

  DataType dtype_;
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
  std::vector<unsigned char> bytes_;
};

// The same call with all memory on the GPU; the result is copied back.
Maybe<void> AddOnDevice(KernelCall call, Array* out, Array* x, Array* y) {
  const std::unique_ptr<CudaStream> stream = JUST(CudaStream::Create(Device(DeviceType::kCUDA, 0)));
  Array* const hosts[] = {out, x, y};
  ArrayView views[3];
  for (int i = 0; i < 3; ++i) {
    views[i] = hosts[i]->View();
    const size_t bytes = hosts[i]->bytes().size();
    JUST(CheckCuda(cudaMalloc(&views[i].data, bytes), "cudaMalloc"));
    JUST(CheckCuda(
        cudaMemcpy(views[i].data, hosts[i]->bytes().data(), bytes, cudaMemcpyHostToDevice),
        "cudaMemcpy"));
  }
  call.outputs = &views[0];
  call.inputs = &views[1];
  call.native_stream = stream->native();
  JUST(FindKernel(kName)->run(call));
  JUST(stream->Wait());
  JUST(CheckCuda(
      cudaMemcpy(out->bytes().data(), views[0].data, out->bytes().size(), cudaMemcpyDeviceToHost),
      "cudaMemcpy"));
  for (const ArrayView& view : views) { JUST(CheckCuda(cudaFree(view.data), "cudaFree")); }
  return Ok();
}

void ExpectSum(Array x, Array y, Array out, const Scalar& alpha, const std::vector<double>& want) {
  AddAttrs attrs;
  attrs.alpha = alpha;
  const ArrayView inputs[] = {x.View(), y.View()};
  const ArrayView output = out.View();
  KernelCall call;
  call.inputs = inputs;
  call.num_inputs = 2;
  call.outputs = &output;
  call.num_outputs = 1;
  call.attrs = &attrs;
  EXPECT_EQ(FindKernel(kName)->accepts(call), nullptr);
  ASSERT_TRUE(AddOnHost(call).ok());
  EXPECT_EQ(out.Values(), want) << "on the host";
  if (!CountDevices().ok()) { return; }
  std::fill(out.bytes().begin(), out.bytes().end(), static_cast<unsigned char>(0));
  const Maybe<void> ran = AddOnDevice(call, &out, &x, &y);
  ASSERT_TRUE(ran.ok()) << ran.error()->message();
  EXPECT_EQ(out.Values(), want) << "on the GPU";
}

struct Case {
  DataType dtype;
  Scalar alpha;
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> want;
};

// Wrapping, rounding after each step, and no contraction: (1 + e)^2 - (1 + 2e) is e^2 if there is
// one.
const std::vector<Case>& Cases() {
  static const auto* cases = new std::vector<Case>{
      {DataType::kBool, 1, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 1}},
      {DataType::kBool, false, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 1, 1}},
      {DataType::kUInt8, 2, {200, 1}, {100, 3}, {144, 7}},
      {DataType::kInt8, -1, {127, -5}, {-1, 2}, {-128, -7}},
      {DataType::kInt16, 3, {32767, 4}, {1, -2}, {-32766, -2}},
      {DataType::kInt32, 1, {2147483647, 4}, {1, -9}, {-2147483648.0, -5}},
      {DataType::kInt64, 1, {0x1p62, 4}, {0x1p62, -9}, {-0x1p63, -5}},
      {DataType::kFloat16, 3, {1, 1000}, {0.0999755859375, 0.25}, {1.2998046875, 1001}},
      {DataType::kBFloat16, 1.1, {0.5, 1}, {0.7, 4}, {1.265625, 5.40625}},
      {DataType::kFloat, 1 + 0x1p-12, {-(1 + 0x1p-11), 1}, {1 + 0x1p-12, 0}, {0, 1}},
      {DataType::kDouble, 1 + 0x1p-27, {-(1 + 0x1p-26), 1}, {1 + 0x1p-27, 0}, {0, 1}},
  };
  return *cases;
}

TEST(AddTest, ComputesEachDtype) {
  std::vector<bool> seen(kNumDataTypes, false);
  for (const Case& c : Cases()) {
    SCOPED_TRACE(DataTypeName(c.dtype));
    seen[static_cast<size_t>(c.dtype)] = true;
    const Array out(c.dtype, std::vector<double>(c.want.size(), 0));
    ExpectSum(Array(c.dtype, c.x), Array(c.dtype, c.y), out, c.alpha, c.want);
  }
  EXPECT_EQ(seen, std::vector<bool>(kNumDataTypes, true));
}

TEST(AddTest, BroadcastsAndFollowsStrides) {
  const auto dtype = DataType::kFloat;
  // A column, a row with gaps, and a transposed output.
  ExpectSum(Array(dtype, {2, 1}, {1, 1}, {10, 20}), Array(dtype, {3}, {2}, {1, 0, 2, 0, 3}),
            Array(dtype, {2, 3}, {1, 2}, std::vector<double>(6, 0)), 1, {11, 21, 12, 22, 13, 23});
  // One element, and none.
  ExpectSum(Array(dtype, {}, {}, {1}), Array(dtype, {}, {}, {2}), Array(dtype, {}, {}, {0}), 1,
            {3});
  ExpectSum(Array(dtype, {0}, {1}, {}), Array(dtype, {}, {}, {2}), Array(dtype, {0}, {1}, {}), 1,
            {});
}

TEST(AddTest, RefusesMixedDtypes) {
  const Array x(DataType::kFloat, {1});
  const Array y(DataType::kInt32, {1});
  const ArrayView inputs[] = {x.View(), y.View()};
  const ArrayView out = x.View();
  KernelCall call;
  call.inputs = inputs;
  call.outputs = &out;
  EXPECT_STREQ(FindKernel(kName)->accepts(call), "operands of different dtypes");
}

TEST(AddTest, ALaunchWithoutAGpuIsAClearError) {
  if (CountDevices().ok()) { return; }  // the tests above have launched
  Array x(DataType::kFloat, {1});
  const ArrayView inputs[] = {x.View(), x.View()};
  const ArrayView out = x.View();
  const AddAttrs attrs;
  KernelCall call;
  call.inputs = inputs;
  call.outputs = &out;
  call.attrs = &attrs;
  const Maybe<void> ran = FindKernel(kName)->run(call);
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error()->kind(), ErrorKind::kEnvironment);
  EXPECT_NE(ran.error()->message().find("[cuda] launching a kernel failed"), std::string::npos)
      << ran.error()->message();
}

}  // namespace
}  // namespace cuda
}  // namespace oneflow
