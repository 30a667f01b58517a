// Colour in what the runtime prints, for terminals only.
//
// Text that travels (in an exception, into a file) is always plain; colour is added where it is
// printed, and only if the reader may see it. As Python decides since 3.13: PYTHON_COLORS=1 or 0 says
// it outright; else NO_COLOR forbids it, FORCE_COLOR asks for it, TERM=dumb forbids it (the first
// two: set to anything but nothing); else a terminal gets it, and nothing else does.
//
// Thread safety: all functions. Nothing here blocks.
#ifndef ONEFLOW_COMMON_TERMINAL_H_
#define ONEFLOW_COMMON_TERMINAL_H_

#include <string>
#include <string_view>

namespace oneflow {

// May what is written to a stream be coloured, the stream being a terminal or not?
bool WantsColor(bool is_terminal);
// The same of this process's stderr.
bool StderrWantsColor();

// As the word "Error" and as a heading are shown.
std::string ErrorColored(std::string_view text);
std::string HeadingColored(std::string_view text);

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_TERMINAL_H_
