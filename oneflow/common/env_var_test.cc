#include "oneflow/common/env_var.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace oneflow {
namespace {

constexpr char kName[] = "ONEFLOW_ENV_VAR_TEST";

// Sets the variable, runs `read`, and returns what was said on stderr.
template <typename Read>
std::string SaidWhen(const char* value, const Read& read) {
  if (value == nullptr) {
    ::unsetenv(kName);
  } else {
    ::setenv(kName, value, 1);
  }
  ::testing::internal::CaptureStderr();
  read();
  ::unsetenv(kName);
  return ::testing::internal::GetCapturedStderr();
}

TEST(EnvVarTest, MissingAndEmptyGiveTheDefault) {
  for (const char* value : {static_cast<const char*>(nullptr), ""}) {
    EXPECT_EQ(SaidWhen(value,
                       [] {
                         EXPECT_TRUE(EnvBool(kName, true));
                         EXPECT_EQ(EnvInt64(kName, 7), 7);
                         EXPECT_EQ(EnvDouble(kName, 2.5), 2.5);
                         EXPECT_EQ(EnvString(kName, "d"), "d");
                       }),
              "");
  }
}

TEST(EnvVarTest, ReadsValues) {
  for (const char* yes : {"1", "true", "TRUE", "on", "yes"}) {
    EXPECT_EQ(SaidWhen(yes, [] { EXPECT_TRUE(EnvBool(kName, false)); }), "");
  }
  for (const char* no : {"0", "false", "off", "no"}) {
    EXPECT_EQ(SaidWhen(no, [] { EXPECT_FALSE(EnvBool(kName, true)); }), "");
  }
  EXPECT_EQ(SaidWhen("-12", [] { EXPECT_EQ(EnvInt64(kName, 0), -12); }), "");
  EXPECT_EQ(SaidWhen("0.5", [] { EXPECT_EQ(EnvDouble(kName, 0), 0.5); }), "");
  EXPECT_EQ(SaidWhen("text", [] { EXPECT_EQ(EnvString(kName, ""), "text"); }), "");
}

TEST(EnvVarTest, NonsenseIsReportedAndTheDefaultUsed) {
  const std::string said = SaidWhen("soon", [] { EXPECT_EQ(EnvInt64(kName, 3), 3); });
  EXPECT_EQ(said,
            "oneflow: warning: environment variable ONEFLOW_ENV_VAR_TEST=soon is ignored: expected "
            "a whole number\n");
  EXPECT_NE(SaidWhen("maybe", [] { EXPECT_TRUE(EnvBool(kName, true)); }), "");
  EXPECT_NE(SaidWhen("12x", [] { EXPECT_EQ(EnvInt64(kName, 3), 3); }), "");
  EXPECT_NE(SaidWhen("99999999999999999999", [] { EXPECT_EQ(EnvInt64(kName, 3), 3); }), "");
  for (const char* bad : {"1s", "nan", "ten"}) {
    EXPECT_NE(SaidWhen(bad, [] { EXPECT_EQ(EnvDouble(kName, 3), 3); }), "") << bad;
  }
}

}  // namespace
}  // namespace oneflow
