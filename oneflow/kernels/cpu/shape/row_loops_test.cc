// The row loops against plain ones, under each instruction set; nothing else is written.
#include "oneflow/kernels/cpu/shape/row_loops.h"

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes Random(Rng* rng, int64_t count) {
  Bytes bytes(static_cast<size_t>(count));
  for (auto& byte : bytes) { byte = static_cast<unsigned char>(Pick(rng, 0, 255)); }
  return bytes;
}

// A result between bytes that must stay as they are.
struct Guarded {
  static constexpr int64_t kGuard = 256;
  Bytes bytes;

  explicit Guarded(int64_t count) : bytes(static_cast<size_t>(count + 2 * kGuard), 0xa5) {}
  unsigned char* data() { return bytes.data() + kGuard; }
};

void Append(Bytes* to, const unsigned char* from, int64_t count) {
  to->insert(to->end(), from, from + count);
}

struct PadCase {
  int64_t size, before, n, after, rows;
};

// "" where the loop gives what it should, of a value that begins with `first`.
std::string DifferenceOfPad(Rng* rng, const PadCase& c, bool planted) {
  const Bytes from = Random(rng, c.rows * c.n * c.size);
  Bytes value = Random(rng, c.size);
  Guarded got((c.before + c.n + c.after) * c.rows * c.size);
  RowLoopsOf(c.size).pad_rows(got.data(), from.data(), value.data(), c.before, c.n, c.after,
                              c.rows);
  if (planted) { value[0] = static_cast<unsigned char>(value[0] + 1); }
  Bytes want(Guarded::kGuard, 0xa5);
  for (int64_t r = 0; r < c.rows; ++r) {
    for (int64_t i = 0; i < c.before; ++i) { Append(&want, value.data(), c.size); }
    Append(&want, from.data() + r * c.n * c.size, c.n * c.size);
    for (int64_t i = 0; i < c.after; ++i) { Append(&want, value.data(), c.size); }
  }
  want.resize(want.size() + Guarded::kGuard, 0xa5);
  return got.bytes == want ? "" : "other bytes";
}

TEST(PadRows, AnyLengthAndBorder) {
  Rng rng(1);
  for (const Config& config : AllConfigs()) {
    const ScopedIsa scoped(config.isa);
    for (int64_t size : {1, 2, 4, 8}) {
      for (int trial = 0; trial < 200; ++trial) {
        const PadCase c = {size, Pick(&rng, 0, OneIn(&rng, 4) ? 80 : 3),
                           Pick(&rng, 0, OneIn(&rng, 3) ? 150 : 40), Pick(&rng, 0, 3),
                           Pick(&rng, 0, 12)};
        ASSERT_EQ(DifferenceOfPad(&rng, c, false), "")
            << IsaName(config.isa) << " size " << c.size << " before " << c.before << " n " << c.n
            << " after " << c.after << " rows " << c.rows;
      }
    }
  }
}

TEST(PadRows, AnotherValueIsNoticed) {
  Rng rng(2);
  EXPECT_NE(DifferenceOfPad(&rng, {4, 1, 32, 1, 5}, true), "");
}

TEST(Weave, AnyCountAndLength) {
  Rng rng(3);
  for (const Config& config : AllConfigs()) {
    const ScopedIsa scoped(config.isa);
    for (int64_t size : {1, 2, 4, 8}) {
      for (int trial = 0; trial < 100; ++trial) {
        const int64_t count = Pick(&rng, 1, 5);
        const int64_t n = Pick(&rng, 0, 150);
        std::vector<Bytes> from;
        std::vector<const void*> pointers;
        for (int64_t k = 0; k < count; ++k) { from.push_back(Random(&rng, n * size)); }
        for (const Bytes& bytes : from) { pointers.push_back(bytes.data()); }
        Guarded got(count * n * size);
        RowLoopsOf(size).weave(got.data(), pointers.data(), count, n);
        Bytes want(Guarded::kGuard, 0xa5);
        for (int64_t i = 0; i < n; ++i) {
          for (const Bytes& bytes : from) { Append(&want, bytes.data() + i * size, size); }
        }
        want.resize(want.size() + Guarded::kGuard, 0xa5);
        ASSERT_EQ(got.bytes, want)
            << IsaName(config.isa) << " " << size << " " << count << " " << n;
      }
    }
  }
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
