// SourceText: lines of Python source files, as UTF-8, read from the file system.
//
// Reads as Python does: a byte order mark and a coding cookie are honoured (UTF-8 and Latin-1; of
// other encodings, bytes that are not UTF-8 become U+FFFD), and lines end with \n, \r\n or \r. The
// files looked at last stay in memory, and are read again when their size or time changes.
//
// Thread safety: all calls, any thread. Blocks on the file system; takes no lock but its own.
#ifndef ONEFLOW_EXTENSION_STACK_SOURCE_TEXT_H_
#define ONEFLOW_EXTENSION_STACK_SOURCE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "oneflow/common/mutex.h"

namespace oneflow {
namespace pystack {

// True for a file that can be read line by line: regular, and no larger than any source is.
bool IsSourceFile(const std::string& path);

// The line `line` (from 1) of `text`, without its end; empty past the last.
std::string LineOf(const std::string& text, int line);

// `bytes` of a source file, as UTF-8.
std::string DecodeSource(std::string bytes);

class SourceText {
 public:
  // Empty when there is no such file or line.
  std::string Line(const std::string& path, int line) EXCLUDES_LOCK(mutex_);

  // A child process must not inherit the lock held by a thread that it does not have.
  void LockForFork() { mutex_.Lock(); }
  void UnlockAfterFork() { mutex_.Unlock(); }

 private:
  static constexpr size_t kFiles = 16;
  struct File {
    std::string path;
    int64_t modified_ns = 0;
    int64_t size = 0;
    uint64_t used = 0;
    std::string text;
    std::vector<uint32_t> starts;  // offset of each line in `text`
  };

  const File* Find(const std::string& path) REQUIRES_LOCK(mutex_);

  Mutex mutex_;
  std::vector<File> files_ GUARDED_BY(mutex_);
  uint64_t clock_ GUARDED_BY(mutex_) = 0;
};

}  // namespace pystack
}  // namespace oneflow

#endif  // ONEFLOW_EXTENSION_STACK_SOURCE_TEXT_H_
