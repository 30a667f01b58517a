#include "oneflow/core/philox.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gtest/gtest.h"
#include "oneflow/core/philox_inline.h"

namespace oneflow {
namespace {

void ExpectBlock(const PhiloxBlock& block, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  EXPECT_EQ(block.v[0], a);
  EXPECT_EQ(block.v[1], b);
  EXPECT_EQ(block.v[2], c);
  EXPECT_EQ(block.v[3], d);
}

// The known answers published with the paper (Random123, kat_vectors: philox4x32 10).
TEST(Philox, KnownAnswers) {
  ExpectBlock(Philox4x32(0, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  ExpectBlock(Philox4x32(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}), 0x408f276d, 0x41c83b0e,
              0xa20bc7c6, 0x6d5451fd);
  ExpectBlock(Philox4x32(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e), 0xd16cfe09,
              0x94fdcceb, 0x5001e420, 0x24126ea1);
}

TEST(Philox, UniformEnds) {
  EXPECT_EQ(PhiloxUniform(0, 0), 0.0);
  EXPECT_EQ(PhiloxUniform(~0u, ~0u), 1.0 - 0x1p-53);
  for (uint64_t i = 0; i < 1000; ++i) {
    const PhiloxBlock b = Philox4x32(7, i, 0);
    EXPECT_EQ(philox::Uniform(b.v[0], b.v[1]), PhiloxUniform(b.v[0], b.v[1]));
  }
}

TEST(Philox, LogAndCosSinAreAccurate) {
  for (uint64_t i = 0; i < 20000; ++i) {
    const PhiloxBlock b = Philox4x32(11, i, 0);
    const double u = PhiloxUniform(b.v[0], b.v[1]);
    const double x = std::ldexp(1.0 - u, -static_cast<int>(b.v[2] % 54));
    EXPECT_NEAR(philox::Log(x), std::log(x), 4e-16 * std::fmax(1.0, std::fabs(std::log(x))));
    double c, s;
    philox::CosSinTurns(u, &c, &s);
    EXPECT_NEAR(c, std::cos(2 * M_PI * u), 2e-15);
    EXPECT_NEAR(s, std::sin(2 * M_PI * u), 2e-15);
  }
  EXPECT_EQ(philox::Log(1.0), 0.0);
}

TEST(Philox, CosSinAtQuarterTurns) {
  const double expected[5][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {1, 0}};
  for (int q = 0; q < 4; ++q) {
    double c, s;
    philox::CosSinTurns(q * 0.25, &c, &s);
    EXPECT_EQ(c, expected[q][0]) << q;
    EXPECT_EQ(s, expected[q][1]) << q;
  }
}

TEST(Philox, NormalTails) {
  double x, y;
  // The smallest u1, 2^-53, and no turn: the largest number there is.
  PhiloxNormal(PhiloxBlock{{~0u, ~0u, 0, 0}}, &x, &y);
  EXPECT_NEAR(x, std::sqrt(106 * std::log(2.0)), 1e-14);
  EXPECT_GT(x, 8.5);
  EXPECT_EQ(y, 0.0);
  PhiloxNormal(PhiloxBlock{{0, 0, 123, 456}}, &x, &y);  // radius 0
  EXPECT_EQ(x, 0.0);
  EXPECT_EQ(y, 0.0);
}

// Moments of 2 n normal numbers, each within five standard deviations of its estimate, and the
// Kolmogorov-Smirnov distance below its 1e-4 quantile.
TEST(Philox, NormalStatistics) {
  constexpr int kBlocks = 200000;
  const double n = 2.0 * kBlocks;
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0, product = 0;
  constexpr int kBins = 64;
  int64_t bins[kBins] = {};
  for (uint64_t i = 0; i < kBlocks; ++i) {
    double v[2];
    PhiloxNormal(Philox4x32(20261130, i, 0), &v[0], &v[1]);
    product += v[0] * v[1];
    for (double z : v) {
      m1 += z, m2 += z * z, m3 += z * z * z, m4 += z * z * z * z;
      const double p = 0.5 * std::erfc(-z / std::sqrt(2.0));
      ++bins[std::min(kBins - 1, static_cast<int>(p * kBins))];
    }
  }
  EXPECT_NEAR(m1 / n, 0.0, 5 * std::sqrt(1 / n));
  EXPECT_NEAR(m2 / n, 1.0, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(m3 / n, 0.0, 5 * std::sqrt(15 / n));
  EXPECT_NEAR(m4 / n, 3.0, 5 * std::sqrt(96 / n));
  EXPECT_NEAR(product / kBlocks, 0.0, 5 / std::sqrt(kBlocks));
  double cumulative = 0, distance = 0;
  for (int b = 0; b < kBins; ++b) {
    cumulative += static_cast<double>(bins[b]) / n;
    distance = std::fmax(distance, std::fabs(cumulative - (b + 1.0) / kBins));
  }
  EXPECT_LT(distance, 2.23 / std::sqrt(n));
}

// The generator is pinned: a change of any bit here changes every seeded program.
TEST(Philox, NormalIsPinned) {
  double x, y;
  PhiloxNormal(Philox4x32(42, 0, 0), &x, &y);
  EXPECT_EQ(x, 0x1.3c0aeec8cec66p+0);
  EXPECT_EQ(y, 0x1.3944650e53787p-1);
}

}  // namespace
}  // namespace oneflow
