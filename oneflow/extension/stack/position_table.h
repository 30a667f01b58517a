// Position tables: which source range an instruction of a CPython code object came from.
//
// CPython stores it as bytes: line numbers in 3.10 (PEP 626), lines and columns from 3.11 on
// (PEP 657; the format is described in CPython's Objects/locations.md). The functions here decode
// such bytes and need nothing of Python, so any thread may call them, with or without the GIL.
//
// A table that ends in the middle of an entry (a code object may be built by hand) gives an unknown
// position; nothing is read beyond its end.
#ifndef ONEFLOW_EXTENSION_STACK_POSITION_TABLE_H_
#define ONEFLOW_EXTENSION_STACK_POSITION_TABLE_H_

#include <string_view>

namespace oneflow {
namespace pystack {

enum class PositionFormat {
  kLines,    // co_linetable of 3.10
  kColumns,  // co_linetable of 3.11 and later
};

// Lines count from 1, columns from 0 in UTF-8 bytes; -1 is "not known".
struct Position {
  int line = -1;
  int end_line = -1;
  int column = -1;
  int end_column = -1;
};

// The position of the instruction at byte offset `lasti` (as in `frame.f_lasti`).
Position DecodePosition(PositionFormat format, std::string_view table, int first_line, int lasti);

// The last line that any instruction came from; `first_line` when the table names none.
int LastLine(PositionFormat format, std::string_view table, int first_line);

}  // namespace pystack
}  // namespace oneflow

#endif  // ONEFLOW_EXTENSION_STACK_POSITION_TABLE_H_
