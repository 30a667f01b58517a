// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/reduce/scan_loops.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

struct Bool {
  uint8_t v;
  operator uint64_t() const { return v != 0 ? 1 : 0; }  // NOLINT(google-explicit-constructor)
};

template <typename T>
struct Types {  // integers
  using Acc = uint64_t;
  using Out = int64_t;
  static Acc Widen(T x) { return static_cast<Acc>(static_cast<int64_t>(x)); }
};
template <>
struct Types<Bool> {
  using Acc = uint64_t;
  using Out = int64_t;
  static Acc Widen(Bool x) { return x; }
};
template <typename T>
struct FloatTypes {
  using Acc = double;
  using Out = T;
  static Acc Widen(T x) { return x; }
};
template <>
struct Types<float> : FloatTypes<float> {};
template <>
struct Types<double> : FloatTypes<double> {};

double* Member(ScanState* state, double) { return &state->d; }
uint64_t* Member(ScanState* state, uint64_t) { return &state->u; }
double Member(const ScanState& state, double) { return state.d; }
uint64_t Member(const ScanState& state, uint64_t) { return state.u; }

template <bool kProd, typename T>
struct Loops {
  using Acc = typename Types<T>::Acc;
  using Out = typename Types<T>::Out;
  static constexpr Acc kIdentity = kProd ? 1 : 0;

  static Acc Join(Acc a, Acc b) { return kProd ? a * b : a + b; }

  static void Rows(const void* const* x, void* const* out, int64_t n, int64_t step,
                   const ScanState* state) {
    const T* x0 = static_cast<const T*>(x[0]);
    const T* x1 = static_cast<const T*>(x[1]);
    const T* x2 = static_cast<const T*>(x[2]);
    const T* x3 = static_cast<const T*>(x[3]);
    Out* y0 = static_cast<Out*>(out[0]);
    Out* y1 = static_cast<Out*>(out[1]);
    Out* y2 = static_cast<Out*>(out[2]);
    Out* y3 = static_cast<Out*>(out[3]);
    Acc a0 = Member(state[0], Acc());
    Acc a1 = Member(state[1], Acc());
    Acc a2 = Member(state[2], Acc());
    Acc a3 = Member(state[3], Acc());
    for (int64_t i = 0, at = 0; i < n; ++i, at += step) {
      a0 = Join(a0, Types<T>::Widen(x0[at]));
      a1 = Join(a1, Types<T>::Widen(x1[at]));
      a2 = Join(a2, Types<T>::Widen(x2[at]));
      a3 = Join(a3, Types<T>::Widen(x3[at]));
      y0[at] = static_cast<Out>(a0);
      y1[at] = static_cast<Out>(a1);
      y2[at] = static_cast<Out>(a2);
      y3[at] = static_cast<Out>(a3);
    }
  }

  static void Row(const void* x, void* out, int64_t n, int64_t step, ScanState state) {
    const T* from = static_cast<const T*>(x);
    Out* to = static_cast<Out*>(out);
    Acc acc = Member(state, Acc());
    for (int64_t i = 0, at = 0; i < n; ++i, at += step) {
      acc = Join(acc, Types<T>::Widen(from[at]));
      to[at] = static_cast<Out>(acc);
    }
  }

  static void Total(const void* x, int64_t n, ScanState* state) {
    constexpr int kLanes = 16;
    const T* from = static_cast<const T*>(x);
    Acc lanes[kLanes];
    for (Acc& lane : lanes) { lane = kIdentity; }
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) { lanes[l] = Join(lanes[l], Types<T>::Widen(from[i + l])); }
    }
    for (int l = 0; i + l < n; ++l) { lanes[l] = Join(lanes[l], Types<T>::Widen(from[i + l])); }
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int l = 0; l < width; ++l) { lanes[l] = Join(lanes[l], lanes[l + width]); }
    }
    Acc* acc = Member(state, Acc());
    *acc = Join(*acc, lanes[0]);
  }

  static void Columns(const void* x, void* out, int64_t stride, int64_t rows, int64_t cols) {
    const T* from = static_cast<const T*>(x);
    Out* to = static_cast<Out*>(out);
    Acc accs[kScanTile];
    for (int64_t j = 0; j < cols; ++j) { accs[j] = kIdentity; }
    for (int64_t r = 0; r < rows; ++r) {
      const T* row = from + r * stride;
      Out* result = to + r * stride;
#pragma GCC ivdep
      for (int64_t j = 0; j < cols; ++j) {
        accs[j] = Join(accs[j], Types<T>::Widen(row[j]));
        result[j] = static_cast<Out>(accs[j]);
      }
    }
  }
};

template <typename L>
constexpr ScanLoops Entry() {
  return {&L::Rows, &L::Row, &L::Total, &L::Columns};
}

template <typename T>
constexpr void Fill(ScanTable* table, DataType dtype) {
  const int d = static_cast<int>(dtype);
  table->at[static_cast<int>(Scan::kSum)][d] = Entry<Loops<false, T>>();
  table->at[static_cast<int>(Scan::kProd)][d] = Entry<Loops<true, T>>();
}

constexpr ScanTable MakeTable() {
  ScanTable table = {};
  Fill<Bool>(&table, DataType::kBool);
  Fill<uint8_t>(&table, DataType::kUInt8);
  Fill<int8_t>(&table, DataType::kInt8);
  Fill<int16_t>(&table, DataType::kInt16);
  Fill<int32_t>(&table, DataType::kInt32);
  Fill<int64_t>(&table, DataType::kInt64);
  Fill<float>(&table, DataType::kFloat);
  Fill<double>(&table, DataType::kDouble);
  return table;
}

constexpr ScanTable kTable = MakeTable();

}  // namespace

const ScanTable& GetScanTable() { return kTable; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
