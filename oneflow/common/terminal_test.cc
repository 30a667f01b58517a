#include "oneflow/common/terminal.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>

namespace oneflow {
namespace {

class TerminalTest : public ::testing::Test {
 protected:
  void SetUp() override { Environment({}); }
  void TearDown() override { Environment({}); }

  static void Environment(const std::map<std::string, const char*>& values) {
    for (const char* name : {"PYTHON_COLORS", "NO_COLOR", "FORCE_COLOR", "TERM"}) {
      const auto found = values.find(name);
      if (found == values.end()) {
        ::unsetenv(name);
      } else {
        ::setenv(name, found->second, 1);
      }
    }
  }
  static bool On(bool terminal, const std::map<std::string, const char*>& values) {
    Environment(values);
    return WantsColor(terminal);
  }
};

TEST_F(TerminalTest, ATerminalAlone) {
  EXPECT_TRUE(On(true, {}));
  EXPECT_TRUE(On(true, {{"TERM", "xterm"}}));
  EXPECT_FALSE(On(false, {{"TERM", "xterm"}}));
}

TEST_F(TerminalTest, EachVariable) {
  EXPECT_FALSE(On(true, {{"NO_COLOR", "1"}}));
  EXPECT_TRUE(On(true, {{"NO_COLOR", ""}}));
  EXPECT_TRUE(On(false, {{"FORCE_COLOR", "1"}}));
  EXPECT_FALSE(On(false, {{"FORCE_COLOR", ""}}));
  EXPECT_FALSE(On(true, {{"TERM", "dumb"}}));
  EXPECT_FALSE(On(true, {{"PYTHON_COLORS", "0"}}));
  EXPECT_TRUE(On(false, {{"PYTHON_COLORS", "1"}}));
  EXPECT_TRUE(On(true, {{"PYTHON_COLORS", "yes"}}));
}

TEST_F(TerminalTest, WhichWinsOverWhich) {
  EXPECT_FALSE(On(false, {{"NO_COLOR", "1"}, {"FORCE_COLOR", "1"}}));
  EXPECT_TRUE(On(false, {{"FORCE_COLOR", "1"}, {"TERM", "dumb"}}));
  EXPECT_TRUE(On(false, {{"PYTHON_COLORS", "1"}, {"NO_COLOR", "1"}}));
  EXPECT_FALSE(On(true, {{"PYTHON_COLORS", "0"}, {"FORCE_COLOR", "1"}}));
}

TEST_F(TerminalTest, ColorBeginsAndEnds) {
  EXPECT_EQ(ErrorColored("Error"), "\x1b[1;31mError\x1b[0m");
  EXPECT_EQ(HeadingColored("Stack:"), "\x1b[1;33mStack:\x1b[0m");
}

}  // namespace
}  // namespace oneflow
