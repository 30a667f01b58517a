#include "oneflow/device/out_of_memory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "oneflow/common/mutex.h"
#include "oneflow/device/byte_size.h"

namespace oneflow {

namespace {

constexpr int kTensorsShown = 5;
// The line that made the tensor, and who called it: often the maker is a function for many.
constexpr size_t kLinesShown = 2;

struct PackageFolder {
  Mutex mutex;
  std::string path GUARDED_BY(mutex);
};
PackageFolder* ThePackageFolder() {
  static auto* folder = new PackageFolder;
  return folder;
}

std::vector<StackFrame> LinesToShow(const std::vector<StackFrame>& all) {
  std::vector<StackFrame> lines = ProgramLines(all);
  if (lines.size() > kLinesShown) { lines.erase(lines.begin(), lines.end() - kLinesShown); }
  for (StackFrame& frame : lines) { frame.column = -1; }  // no carets: the line is enough
  return lines;
}

std::string Indented(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    out += "  " + text.substr(at, end - at);
    at = end;
  }
  return out;
}

std::string Describe(const LiveTensor& tensor) {
  std::string out = Format("  {}  {} {}, made by {}", FormatBytes(tensor.bytes),
                           DataTypeName(tensor.dtype), tensor.shape, tensor.op);
  if (tensor.in_backward) { out += " in backward"; }
  if (tensor.holders > 1) { out += Format(", held by {} tensors or arrays", tensor.holders); }
  return out + "\n" + Indented(FormatFrames(LinesToShow(tensor.lines)));
}

std::string Describe(const LiveTensors& live) {
  std::string out;
  int64_t shown = 0;
  for (const LiveTensor& tensor : live.largest) {
    out += Describe(tensor);
    shown += tensor.bytes;
  }
  const auto more = live.count - static_cast<int64_t>(live.largest.size());
  if (more > 0) {
    out += Format("  and {} more, {} together\n", more,
                  FormatBytes(std::max<int64_t>(live.bytes - shown, 0)));
  }
  if (!live.largest.empty() && StackSource::Get() == nullptr) {
    out += "  (set ONEFLOW_PYTHON_STACK_GETTER=1 or ONEFLOW_DEBUG=1 to have the lines named that "
           "made them)\n";
  }
  return out;
}

std::string Purpose(const MemoryRequest& request) {
  if (request.shape == nullptr) { return "its kernel's scratch"; }
  return Format("a tensor of shape {} and dtype {}", *request.shape, DataTypeName(request.dtype));
}

std::string Advice(const MemoryStats& stats, int64_t asked) {
  const std::string source = stats.limit_source;
  std::string more = "end other programs that use much memory";
  if (source.compare(0, 8, "ONEFLOW_") == 0) { more = "a larger " + source; }
  if (source.find("cgroup") != std::string::npos) { more = "a larger limit of the control group"; }
  if (asked > stats.limit) { return "a smaller size: this one alone is more than the limit"; }
  return "a smaller batch; `with flow.no_grad():` where no gradient is needed;\n"
         "          `del` of tensors that are done with; " +
         more;
}

std::string Summary(const MemoryStats& stats, const LiveTensors& live,
                    const MemoryRequest& request) {
  const auto asked = static_cast<int64_t>(request.bytes);
  std::string in_use = FormatBytes(stats.allocated);
  if (live.count == 0 && stats.allocated > 0) {
    in_use += Format(", in tensors smaller than {} and scratch",
                     FormatBytes(LiveMemory::kSmallestRecorded));
  } else if (live.count > 0) {
    in_use += Format(": {} in {} tensor{} of {} or more, {} in smaller ones and scratch",
                     FormatBytes(live.bytes), live.count, live.count == 1 ? "" : "s",
                     FormatBytes(LiveMemory::kSmallestRecorded),
                     FormatBytes(std::max<int64_t>(stats.allocated - live.bytes, 0)));
  }
  return Format("Out of memory on {}:\n"
                "  asked   {} ({} bytes)\n"
                "  in use  {}\n"
                "  peak    {}\n"
                "  cached  {} beside it, after flow.{}.empty_cache()\n"
                "  limit   {}, set by {}\n"
                "  try     {}",
                request.device, FormatBytes(asked), asked, in_use,
                FormatBytes(stats.allocated_peak), FormatBytes(stats.reserved - stats.allocated),
                DeviceTypeName(request.device.type()), FormatBytes(stats.limit), stats.limit_source,
                Advice(stats, asked));
}

}  // namespace

std::vector<StackFrame> ProgramLines(const std::vector<StackFrame>& frames) {
  std::string folder;
  {
    MutexLock lock(&ThePackageFolder()->mutex);
    folder = ThePackageFolder()->path;
  }
  std::vector<StackFrame> lines;
  for (const StackFrame& frame : frames) {
    if (folder.empty() || frame.file.compare(0, folder.size(), folder) != 0) {
      lines.push_back(frame);
    }
  }
  return lines.empty() ? frames : lines;
}

void SetPackageFolder(const std::string& folder) {
  MutexLock lock(&ThePackageFolder()->mutex);
  ThePackageFolder()->path = folder;
}

std::string DescribeLargestTensors(Device device, int count) {
  return Describe(LiveMemory::Find(device, count));
}

ErrorPtr OutOfMemoryReport(const Allocator& pool, const MemoryRequest& request) {
  const LiveTensors live = LiveMemory::Find(request.device, kTensorsShown);
  const MemoryStats stats = pool.Stats();
  std::string text =
      Format("[{}] expects {} for {}, got no memory on {}", request.op,
             FormatBytes(static_cast<int64_t>(request.bytes)), Purpose(request), request.device);
  if (live.count > 0) {
    text +=
        Format("\nThe largest tensors that hold memory on {}:\n{}", request.device, Describe(live));
    text.pop_back();
  }
  ErrorPtr error = MakeIntrusive<Error>(ErrorKind::kOutOfMemory, std::move(text));
  error->set_footer(Summary(stats, live, request));
  error->set_op(request.op);
  error->set_stack(CurrentStack(), CurrentStackContext());
  return error;
}

}  // namespace oneflow
