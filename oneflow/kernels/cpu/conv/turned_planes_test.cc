// Planes to pixels and back, against plain loops, on every instruction set and with several threads.
#include "oneflow/kernels/cpu/conv/turned_planes.h"

#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

using Words = std::vector<uint16_t>;
constexpr uint16_t kGuard = 0xabcd;

size_t Place(const TurnedPlanes& s, int64_t image, int64_t channel, int64_t pixel) {
  if (!s.blocked) { return static_cast<size_t>((image * s.pixels + pixel) * s.channels + channel); }
  const int64_t block = image * s.channels / 16 + channel / 16;
  return static_cast<size_t>((block * s.pixels + pixel) * 16 + channel % 16);
}

// The pixels that the planes are to become.
Words Turned(const TurnedPlanes& s, const Words& planes) {
  Words pixels(planes.size());
  for (size_t i = 0; i < planes.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t pixel = at % s.pixels, channel = at / s.pixels % s.channels;
    pixels[Place(s, at / s.pixels / s.channels, channel, pixel)] = planes[i];
  }
  return pixels;
}

// Words that differ, guards behind them included.
int64_t Wrong(const Words& got, Words want) {
  want.resize(got.size(), kGuard);
  int64_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) { wrong += got[i] == want[i] ? 0 : 1; }
  return wrong;
}

TEST(TurnedPlanesTest, AgreesWithPlainLoops) {
  for (int64_t pixels : {1, 7, 31, 32, 33, 49, 196, 1100}) {
    for (int64_t channels : {16, 48}) {
      for (bool blocked : {false, true}) {
        const TurnedPlanes shape{3, channels, pixels, blocked};
        Words planes(static_cast<size_t>(3 * channels * pixels));
        for (size_t i = 0; i < planes.size(); ++i) { planes[i] = static_cast<uint16_t>(i * 7 + 1); }
        const Words want = Turned(shape, planes);
        for (const Config& config : AllConfigs()) {
          const ScopedIsa isa(config.isa);
          Words there(planes.size() + 64, kGuard), back(there);
          PlanesToPixels(shape, planes.data(), there.data(), config.threads);
          ASSERT_EQ(Wrong(there, want), 0) << pixels << " " << channels << " " << blocked;
          PixelsToPlanes(shape, there.data(), back.data(), config.threads);
          ASSERT_EQ(Wrong(back, planes), 0) << pixels << " " << channels << " " << blocked;
        }
      }
    }
  }
}

TEST(TurnedPlanesTest, TheComparisonSeesOneWord) {
  const Words planes(64, 5);
  Words other = planes;
  other[40] = 6;
  EXPECT_EQ(Wrong(other, planes), 1);
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
