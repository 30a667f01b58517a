// CodeRecord: what the recorder needs of a Python code object, copied out of it.
//
// Copied, so that a thread without the GIL never looks at Python's memory. The record holds one
// reference to the code object, so that its address stays its own.
//
// Source text: of a file on disk it is read when it is asked for. Anything else (a notebook's cell,
// exec with an entry in `linecache`, a zip) cannot be found again without Python, so the lines of
// this code object are copied from `linecache`'s table when the code object is first seen. No Python
// code runs for that; entries that only a loader could fill are left to LoadText().
//
// Thread safety: Make, Release and LoadText REQUIRE the GIL; the rest is read by any thread.
#ifndef ONEFLOW_EXTENSION_STACK_CODE_RECORD_H_
#define ONEFLOW_EXTENSION_STACK_CODE_RECORD_H_

#include <Python.h>

#include <atomic>
#include <string>

#include "oneflow/extension/stack/intern_table.h"
#include "oneflow/extension/stack/position_table.h"
#include "oneflow/extension/stack/source_text.h"

namespace oneflow {
namespace pystack {

class CodeRecord {
 public:
  explicit CodeRecord(PyCodeObject* code);
  ~CodeRecord();
  CodeRecord(const CodeRecord&) = delete;
  CodeRecord& operator=(const CodeRecord&) = delete;

  size_t bytes() const;
  const std::string& file() const { return file_; }
  // The frame of this code object at `lasti`, with its source line where that is known.
  StackFrame Describe(int lasti, SourceText* sources) const;
  // Asks `linecache`, and through it the module's loader, for text that is still missing. Runs
  // Python code; errors there are swallowed, the text stays unknown.
  void LoadText();

 private:
  std::string Source(int line, SourceText* sources) const;
  // `lines`: a list of str, the lines of the file.
  void KeepLines(PyObject* lines);

  PyCodeObject* code_;
  std::string file_;  // as Python shows it
  std::string path_;  // where it was when the code object was first seen; empty: not on disk
  std::string name_;
  std::string positions_;
  int first_line_;
  std::atomic<const std::string*> text_{nullptr};  // lines from first_line_ on; set once
};

class PythonCodeKeeper : public CodeKeeper {
 public:
  void* Acquire(const void* code, size_t* bytes) override;
  void Release(void* record) override { Delete(record); }
  static void Delete(void* record);
};

}  // namespace pystack
}  // namespace oneflow

#endif  // ONEFLOW_EXTENSION_STACK_CODE_RECORD_H_
