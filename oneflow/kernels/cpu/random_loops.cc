// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/random_loops.h"

#include "oneflow/core/philox_inline.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

constexpr int kBlocks = 64;  // made together, so that each stage is one vector loop

struct Words {
  uint32_t w[4][kBlocks];
};

void MakeWords(uint64_t seed, uint64_t block, Words* out) {
  const auto k0 = static_cast<uint32_t>(seed);
  const auto k1 = static_cast<uint32_t>(seed >> 32);
  for (int i = 0; i < kBlocks; ++i) {
    const uint64_t counter = block + static_cast<uint64_t>(i);
    uint32_t a = static_cast<uint32_t>(counter);
    uint32_t b = static_cast<uint32_t>(counter >> 32);
    uint32_t c = 0, d = 0;
    philox::Rounds(k0, k1, &a, &b, &c, &d);
    out->w[0][i] = a, out->w[1][i] = b, out->w[2][i] = c, out->w[3][i] = d;
  }
}

struct NormalPair {
  static void Make(const Words& words, double mean, double std, double* x, double* y) {
    for (int i = 0; i < kBlocks; ++i) {
      double a, b;
      philox::Normal(words.w[0][i], words.w[1][i], words.w[2][i], words.w[3][i], &a, &b);
      x[i] = mean + std * a;
      y[i] = mean + std * b;
    }
  }
  template <typename T>
  static T Finish(double v, T, T) {
    return static_cast<T>(v);
  }
};

struct UniformPair {
  static void Make(const Words& words, double low, double high, double* x, double* y) {
    const double width = high - low;
    for (int i = 0; i < kBlocks; ++i) {
      x[i] = low + width * philox::Uniform(words.w[0][i], words.w[1][i]);
      y[i] = low + width * philox::Uniform(words.w[2][i], words.w[3][i]);
    }
  }
  // Rounding must not reach the open end.
  template <typename T>
  static T Finish(double v, T end, T last) {
    const T rounded = static_cast<T>(v);
    return rounded >= end ? last : rounded;
  }
};

struct ExponentialPair {
  static void Make(const Words& words, double rate, double, double* x, double* y) {
    for (int i = 0; i < kBlocks; ++i) {
      x[i] = -philox::Log(1.0 - philox::Uniform(words.w[0][i], words.w[1][i])) / rate;
      y[i] = -philox::Log(1.0 - philox::Uniform(words.w[2][i], words.w[3][i])) / rate;
    }
  }
  template <typename T>
  static T Finish(double v, T, T) {
    return static_cast<T>(v);
  }
};

// The largest number below x (x itself if x is the lower bound, too).
float Below(float x) { return __builtin_nextafterf(x, -__builtin_inff()); }
double Below(double x) { return __builtin_nextafter(x, -__builtin_inf()); }

template <typename T, typename Pair>
void Generate(void* out, int64_t n, uint64_t seed, uint64_t block, double a, double b) {
  T* to = static_cast<T*>(out);
  const T end = static_cast<T>(b);
  const T last = static_cast<T>(a) < end ? Below(end) : static_cast<T>(a);
  for (int64_t at = 0; at < n; at += 2 * kBlocks) {
    Words words;
    double x[kBlocks], y[kBlocks];
    T pairs[2 * kBlocks];
    MakeWords(seed, block + static_cast<uint64_t>(at / 2), &words);
    Pair::Make(words, a, b, x, y);
    for (int i = 0; i < kBlocks; ++i) {
      pairs[2 * i] = Pair::template Finish<T>(x[i], end, last);
      pairs[2 * i + 1] = Pair::template Finish<T>(y[i], end, last);
    }
    const int64_t count = n - at < 2 * kBlocks ? n - at : 2 * kBlocks;
    __builtin_memcpy(to + at, pairs, static_cast<size_t>(count) * sizeof(T));
  }
}

void Bits(uint64_t* out, int64_t n, uint64_t seed, uint64_t block) {
  for (int64_t at = 0; at < n; at += 2 * kBlocks) {
    Words words;
    uint64_t pairs[2 * kBlocks];
    MakeWords(seed, block + static_cast<uint64_t>(at / 2), &words);
    for (int i = 0; i < kBlocks; ++i) {
      pairs[2 * i] = uint64_t{words.w[0][i]} << 32 | words.w[1][i];
      pairs[2 * i + 1] = uint64_t{words.w[2][i]} << 32 | words.w[3][i];
    }
    const int64_t count = n - at < 2 * kBlocks ? n - at : 2 * kBlocks;
    __builtin_memcpy(out + at, pairs, static_cast<size_t>(count) * sizeof(uint64_t));
  }
}

constexpr RandomLoops MakeLoops() {
  RandomLoops table = {};
  table.bits = &Bits;
  table.normal[static_cast<int>(DataType::kFloat)] = &Generate<float, NormalPair>;
  table.normal[static_cast<int>(DataType::kDouble)] = &Generate<double, NormalPair>;
  table.uniform[static_cast<int>(DataType::kFloat)] = &Generate<float, UniformPair>;
  table.uniform[static_cast<int>(DataType::kDouble)] = &Generate<double, UniformPair>;
  table.exponential[static_cast<int>(DataType::kFloat)] = &Generate<float, ExponentialPair>;
  table.exponential[static_cast<int>(DataType::kDouble)] = &Generate<double, ExponentialPair>;
  return table;
}

constexpr RandomLoops kLoops = MakeLoops();

}  // namespace

const RandomLoops& GetRandomLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
