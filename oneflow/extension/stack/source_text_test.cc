#include "oneflow/extension/stack/source_text.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace oneflow {
namespace pystack {
namespace {

class SourceTextTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* base = std::getenv("TEST_TMPDIR");
    folder_ = std::string(base == nullptr ? "/tmp" : base) + "/source_text_XXXXXX";
    ASSERT_NE(::mkdtemp(&folder_[0]), nullptr);
  }
  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ + "/" + name;
    std::FILE* file = std::fopen(path.c_str(), "wb");
    EXPECT_NE(file, nullptr);
    EXPECT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    std::fclose(file);
    return path;
  }

  std::string folder_;
  SourceText sources_;
};

TEST_F(SourceTextTest, ReadsLinesWithEveryKindOfEnd) {
  const std::string path = Write("a.py", "one\n  two\r\n\rfour\r\nlast");
  EXPECT_EQ(sources_.Line(path, 1), "one");
  EXPECT_EQ(sources_.Line(path, 2), "  two");
  EXPECT_EQ(sources_.Line(path, 3), "");
  EXPECT_EQ(sources_.Line(path, 4), "four");
  EXPECT_EQ(sources_.Line(path, 5), "last");
  EXPECT_EQ(sources_.Line(path, 6), "");
  EXPECT_EQ(sources_.Line(path, 0), "");
  EXPECT_EQ(sources_.Line(path, -1), "");
}

TEST_F(SourceTextTest, WhatCannotBeReadIsEmpty) {
  EXPECT_EQ(sources_.Line(folder_ + "/missing.py", 1), "");
  EXPECT_EQ(sources_.Line(folder_, 1), "");
  EXPECT_EQ(sources_.Line("/dev/zero", 1), "");
  EXPECT_EQ(sources_.Line("", 1), "");
  EXPECT_EQ(sources_.Line(Write("empty.py", ""), 1), "");
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(sources_.Line(pipe, 1), "");
  EXPECT_FALSE(IsSourceFile(pipe));
  EXPECT_FALSE(IsSourceFile(folder_));
}

TEST_F(SourceTextTest, SeesThatAFileChanged) {
  const std::string path = Write("a.py", "old\n");
  EXPECT_EQ(sources_.Line(path, 1), "old");
  Write("a.py", "newer\n");
  EXPECT_EQ(sources_.Line(path, 1), "newer");
  ASSERT_EQ(::unlink(path.c_str()), 0);
  EXPECT_EQ(sources_.Line(path, 1), "");
}

TEST_F(SourceTextTest, KeepsTheFilesUsedLastAndReadsTheOthersAgain) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 40; ++i) {
      const std::string text = "file " + std::to_string(i);
      const std::string path = Write("f" + std::to_string(i) + ".py", text);
      EXPECT_EQ(sources_.Line(path, 1), text);
    }
  }
}

TEST_F(SourceTextTest, HonoursMarkAndCookie) {
  EXPECT_EQ(sources_.Line(Write("bom.py", "\xef\xbb\xbfx = 1\n"), 1), "x = 1");
  const std::string latin = "# -*- coding: latin-1 -*-\ns = '\xe9'\n";
  EXPECT_EQ(sources_.Line(Write("latin.py", latin), 2), "s = '\xc3\xa9'");
  const std::string second =
      "#!/usr/bin/python\n# vim: set fileencoding=iso_8859_1 :\ns = '\xe9'\n";
  EXPECT_EQ(sources_.Line(Write("second.py", second), 3), "s = '\xc3\xa9'");
  const std::string third = "\n\n# coding: latin-1\ns = '\xe9'\n";
  EXPECT_EQ(sources_.Line(Write("third.py", third), 4), "s = '\xef\xbf\xbd'");
}

TEST(DecodeSourceTest, KeepsUtf8AndMendsTheRest) {
  EXPECT_EQ(DecodeSource("\xc3\xa9 \xe8\xa1\xa8 \xf0\x9f\x98\x80"),
            "\xc3\xa9 \xe8\xa1\xa8 \xf0\x9f\x98\x80");
  EXPECT_EQ(DecodeSource("a\xff"
                         "b\xc3"),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd");
  EXPECT_EQ(DecodeSource("# coding: koi8-r\n\xc1"), "# coding: koi8-r\n\xef\xbf\xbd");
  EXPECT_EQ(DecodeSource(""), "");
}

TEST(LineOfTest, CountsFromOne) {
  EXPECT_EQ(LineOf("a\nb\n", 1), "a");
  EXPECT_EQ(LineOf("a\nb\n", 2), "b");
  EXPECT_EQ(LineOf("a\nb\n", 3), "");
  EXPECT_EQ(LineOf("a\nb", 0), "");
}

}  // namespace
}  // namespace pystack
}  // namespace oneflow
