#include "oneflow/extension/stack/source_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <string_view>
#include <utility>

namespace oneflow {
namespace pystack {

namespace {

constexpr int64_t kLargestSource = 64 << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

size_t AfterLine(std::string_view text, size_t begin) {
  const size_t end = text.find_first_of("\r\n", begin);
  if (end == std::string_view::npos) { return text.size(); }
  return end + (text.substr(end, 2) == "\r\n" ? 2 : 1);
}

std::string WithoutEnd(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) { line.remove_suffix(1); }
  return std::string(line);
}

// Length of the UTF-8 sequence that begins at `at`; 0 when there is none.
size_t SequenceLength(std::string_view s, size_t at) {
  const uint8_t first = static_cast<uint8_t>(s[at]);
  if (first < 0x80) { return 1; }
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > s.size()) { return 0; }
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<uint8_t>(s[at + i]) & 0xc0) != 0x80) { return 0; }
  }
  return length;
}

std::string FromLatin1(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const uint8_t byte = static_cast<uint8_t>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xc0 | (byte >> 6));
      out += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return out;
}

std::string Mended(std::string_view bytes) {
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = SequenceLength(bytes, at);
    out += length == 0 ? kReplacement : bytes.substr(at, length);
    at += std::max<size_t>(length, 1);
  }
  return out;
}

// The word after "coding:" or "coding=" in a comment of one of the first two lines, lower case.
std::string Cookie(std::string_view text) {
  const std::string_view head = text.substr(0, AfterLine(text, AfterLine(text, 0)));
  const size_t comment = head.find('#');
  if (comment == std::string_view::npos) { return ""; }
  size_t at = head.find("coding", comment);
  if (at == std::string_view::npos) { return ""; }
  at += 6;
  if (at >= head.size() || (head[at] != ':' && head[at] != '=')) { return ""; }
  at = head.find_first_not_of(" \t", at + 1);
  std::string name;
  while (at < head.size() && (std::isalnum(static_cast<uint8_t>(head[at])) != 0 ||
                              head[at] == '-' || head[at] == '_' || head[at] == '.')) {
    const char c = head[at++];
    name += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<uint8_t>(c)));
  }
  return name;
}

bool ReadAll(int fd, int64_t size, std::string* out) {
  out->resize(static_cast<size_t>(size));
  size_t done = 0;
  while (done < out->size()) {
    const ssize_t n = ::read(fd, &(*out)[done], out->size() - done);
    if (n < 0 && errno == EINTR) { continue; }
    if (n < 0) { return false; }
    if (n == 0) { break; }
    done += static_cast<size_t>(n);
  }
  out->resize(done);
  return true;
}

bool IsSource(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_size <= kLargestSource;
}

int64_t ModifiedNs(const struct stat& status) {
  return static_cast<int64_t>(status.st_mtim.tv_sec) * 1000000000 + status.st_mtim.tv_nsec;
}

}  // namespace

bool IsSourceFile(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && IsSource(status);
}

std::string LineOf(const std::string& text, int line) {
  size_t begin = 0;
  for (int i = 1; i < line && begin < text.size(); ++i) { begin = AfterLine(text, begin); }
  if (line < 1 || begin >= text.size()) { return ""; }
  return WithoutEnd(std::string_view(text).substr(begin, AfterLine(text, begin) - begin));
}

std::string DecodeSource(std::string bytes) {
  if (std::string_view(bytes).substr(0, 3) == kByteOrderMark) { return Mended(bytes.substr(3)); }
  const std::string cookie = Cookie(bytes);
  if (cookie == "latin-1" || cookie == "latin1" || cookie == "iso-8859-1") {
    return FromLatin1(bytes);
  }
  return Mended(bytes);
}

const SourceText::File* SourceText::Find(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) { return nullptr; }
  struct stat status;
  File* found = nullptr;
  if (::fstat(fd, &status) == 0 && IsSource(status)) {
    const int64_t modified = ModifiedNs(status);
    for (File& file : files_) {
      if (file.path == path && file.modified_ns == modified && file.size == status.st_size) {
        found = &file;
      }
    }
    std::string bytes;
    if (found == nullptr && ReadAll(fd, status.st_size, &bytes)) {
      if (files_.size() < kFiles) { files_.emplace_back(); }
      found = &*std::min_element(files_.begin(), files_.end(),
                                 [](const File& a, const File& b) { return a.used < b.used; });
      *found = File{path, modified, status.st_size, 0, DecodeSource(std::move(bytes)), {}};
      for (size_t at = 0; at < found->text.size(); at = AfterLine(found->text, at)) {
        found->starts.push_back(static_cast<uint32_t>(at));
      }
    }
  }
  ::close(fd);
  if (found != nullptr) { found->used = ++clock_; }
  return found;
}

std::string SourceText::Line(const std::string& path, int line) {
  MutexLock lock(&mutex_);
  const File* file = line < 1 ? nullptr : Find(path);
  if (file == nullptr || static_cast<size_t>(line) > file->starts.size()) { return ""; }
  const size_t begin = file->starts[static_cast<size_t>(line) - 1];
  const std::string_view text = file->text;
  return WithoutEnd(text.substr(begin, AfterLine(text, begin) - begin));
}

}  // namespace pystack
}  // namespace oneflow
