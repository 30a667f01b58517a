#include "oneflow/extension/stack/code_record.h"

#include <unistd.h>

#include <algorithm>
#include <climits>

namespace oneflow {
namespace pystack {

namespace {

#if PY_VERSION_HEX >= 0x030B0000
constexpr PositionFormat kFormat = PositionFormat::kColumns;
#else
constexpr PositionFormat kFormat = PositionFormat::kLines;
#endif

// What a retained code object is charged beside its record: its own memory is Python's to count.
constexpr size_t kCodeObjectBytes = 256;

void AppendUtf8(Py_UCS4 c, std::string* out) {
  const auto add = [out](Py_UCS4 byte) { *out += static_cast<char>(byte); };
  if (c < 0x80) {
    add(c);
  } else if (c < 0x800) {
    add(0xc0 | (c >> 6));
    add(0x80 | (c & 0x3f));
  } else if (c >= 0xdc80 && c <= 0xdcff) {
    add(c - 0xdc00);  // a byte of a file name that was not UTF-8 (surrogateescape)
  } else if (c >= 0xd800 && c <= 0xdfff) {
    add('?');
  } else if (c < 0x10000) {
    add(0xe0 | (c >> 12));
    add(0x80 | ((c >> 6) & 0x3f));
    add(0x80 | (c & 0x3f));
  } else {
    add(0xf0 | (c >> 18));
    add(0x80 | ((c >> 12) & 0x3f));
    add(0x80 | ((c >> 6) & 0x3f));
    add(0x80 | (c & 0x3f));
  }
}

// By hand: the C API's encoders may raise, and then run Python code.
std::string Utf8(PyObject* text) {
  std::string out;
  if (text == nullptr || !PyUnicode_Check(text)) { return out; }
#if PY_VERSION_HEX < 0x030C0000
  if (PyUnicode_READY(text) != 0) {
    PyErr_Clear();
    return out;
  }
#endif
  const int kind = PyUnicode_KIND(text);
  const void* data = PyUnicode_DATA(text);
  const Py_ssize_t length = PyUnicode_GET_LENGTH(text);
  out.reserve(static_cast<size_t>(length));
  for (Py_ssize_t i = 0; i < length; ++i) { AppendUtf8(PyUnicode_READ(kind, data, i), &out); }
  return out;
}

std::string Bytes(PyObject* bytes) {
  if (bytes == nullptr || !PyBytes_Check(bytes)) { return ""; }
  return std::string(PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)));
}

// Relative names hold for the directory of the moment; programs change it later.
std::string Absolute(const std::string& file) {
  if (file.empty() || file[0] == '/') { return file; }
  char buffer[PATH_MAX];
  return ::getcwd(buffer, sizeof(buffer)) == nullptr ? file : std::string(buffer) + "/" + file;
}

// Puts back, at the end, the exception that was set at the beginning.
class ErrorState {
 public:
  ErrorState() { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~ErrorState() { PyErr_Restore(type_, value_, traceback_); }
  ErrorState(const ErrorState&) = delete;
  ErrorState& operator=(const ErrorState&) = delete;

 private:
  PyObject* type_;
  PyObject* value_;
  PyObject* traceback_;
};

// Borrowed. (PyImport_GetModuleDict ends the process when it is called late during exit.)
PyObject* Modules() { return PySys_GetObject("modules"); }

// Borrowed value of the key that `same` accepts, of an exact dict; or nullptr. A lookup in the
// ordinary way would call `__eq__` of a key that is no string and has the hash of what is looked for.
template <typename Same>
PyObject* FindItem(PyObject* dict, const Same& same) {
  if (dict == nullptr || !PyDict_CheckExact(dict)) { return nullptr; }
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &key, &value) != 0) {
    if (PyUnicode_CheckExact(key) && same(key)) { return value; }
  }
  return nullptr;
}

PyObject* FindItem(PyObject* dict, const char* name) {
  return FindItem(
      dict, [name](PyObject* key) { return PyUnicode_CompareWithASCIIString(key, name) == 0; });
}

PyObject* LinecacheTable() {
  PyObject* linecache = FindItem(Modules(), "linecache");
  if (linecache == nullptr || !PyModule_Check(linecache)) { return nullptr; }
  return FindItem(PyModule_GetDict(linecache), "cache");
}

// Borrowed list of lines that `linecache` holds for `file`, or nullptr. Runs no Python code: only
// exact dicts, strings, tuples and lists are looked into.
PyObject* CachedLines(PyObject* file) {
#ifdef Py_GIL_DISABLED
  return nullptr;  // others may change these dicts now; LoadText() asks in the ordinary way
#endif
  if (file == nullptr || !PyUnicode_CheckExact(file)) { return nullptr; }
  PyObject* entry = FindItem(LinecacheTable(),
                             [file](PyObject* key) { return PyUnicode_Compare(key, file) == 0; });
  if (entry == nullptr || !PyTuple_CheckExact(entry) || PyTuple_GET_SIZE(entry) < 3) {
    return nullptr;
  }
  PyObject* lines = PyTuple_GET_ITEM(entry, 2);
  return PyList_CheckExact(lines) ? lines : nullptr;
}

// Borrowed dict of the module that was loaded from `file`, or nullptr. May run Python code.
PyObject* ModuleOf(PyObject* file) {
  PyObject* modules = Modules();
  PyObject* values = modules == nullptr ? nullptr : PyMapping_Values(modules);
  PyObject* found = nullptr;
  for (Py_ssize_t i = 0; values != nullptr && i < PyList_GET_SIZE(values); ++i) {
    PyObject* module = PyList_GET_ITEM(values, i);
    if (!PyModule_Check(module)) { continue; }
    PyObject* dict = PyModule_GetDict(module);
    PyObject* name = PyDict_GetItemString(dict, "__file__");
    if (name == nullptr || !PyUnicode_Check(name)) { continue; }
    if (PyUnicode_Compare(name, file) == 0) {
      found = dict;
      break;
    }
  }
  Py_XDECREF(values);
  return found;
}

}  // namespace

CodeRecord::CodeRecord(PyCodeObject* code)
    : code_(code),
      file_(Utf8(code->co_filename)),
      name_(Utf8(code->co_name)),
      positions_(Bytes(code->co_linetable)),
      first_line_(code->co_firstlineno) {
  Py_INCREF(reinterpret_cast<PyObject*>(code));
  const std::string path = Absolute(file_);
  if (IsSourceFile(path)) {
    path_ = path;
    return;
  }
  ErrorState keep;
  if (PyObject* lines = CachedLines(code->co_filename)) { KeepLines(lines); }
}

CodeRecord::~CodeRecord() {
  delete text_.load();
  Py_DECREF(reinterpret_cast<PyObject*>(code_));
}

size_t CodeRecord::bytes() const {
  const std::string* text = text_.load();
  return sizeof(*this) + file_.capacity() + path_.capacity() + name_.capacity() +
         positions_.capacity() + (text == nullptr ? 0 : text->capacity()) + kCodeObjectBytes;
}

void CodeRecord::KeepLines(PyObject* lines) {
  const Py_ssize_t last =
      std::min<Py_ssize_t>(LastLine(kFormat, positions_, first_line_), PyList_GET_SIZE(lines));
  std::string text;
  for (Py_ssize_t i = std::max(first_line_, 1) - 1; i < last; ++i) {
    std::string line = Utf8(PyList_GET_ITEM(lines, i));
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) { line.pop_back(); }
    text += line + "\n";
  }
  if (text.empty()) { return; }
  const std::string* none = nullptr;
  const auto* kept = new std::string(std::move(text));
  if (!text_.compare_exchange_strong(none, kept)) { delete kept; }
}

void CodeRecord::LoadText() {
  if (!path_.empty() || text_.load() != nullptr) { return; }
  ErrorState keep;
  PyObject* file = code_->co_filename;
  PyObject* globals = file_.empty() || file_[0] == '<' ? nullptr : ModuleOf(file);
  Py_XINCREF(globals);
  PyObject* linecache = PyImport_ImportModule("linecache");
  PyObject* lines = linecache == nullptr
                        ? nullptr
                        : PyObject_CallMethod(linecache, "getlines", "OO", file,
                                              globals == nullptr ? Py_None : globals);
  if (lines != nullptr && PyList_CheckExact(lines)) { KeepLines(lines); }
  Py_XDECREF(lines);
  Py_XDECREF(linecache);
  Py_XDECREF(globals);
  // Ctrl-C belongs to the program, not to this search: it is raised again at the next chance.
  if (PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0) {
    PyErr_SetInterrupt();
  }
  PyErr_Clear();
}

std::string CodeRecord::Source(int line, SourceText* sources) const {
  if (!path_.empty()) { return sources->Line(path_, line); }
  const std::string* text = text_.load(std::memory_order_acquire);
  return text == nullptr ? "" : LineOf(*text, line - std::max(first_line_, 1) + 1);
}

StackFrame CodeRecord::Describe(int lasti, SourceText* sources) const {
  const Position position = DecodePosition(kFormat, positions_, first_line_, lasti);
  StackFrame frame;
  frame.file = file_;
  frame.function = name_;
  // Instructions that the compiler added have no line; the function's own says where to look.
  frame.line = position.line < 0 ? first_line_ : position.line;
  frame.end_line = position.end_line;
  frame.column = position.column;
  frame.end_column = position.end_column;
  frame.source = Source(frame.line, sources);
  return frame;
}

void* PythonCodeKeeper::Acquire(const void* code, size_t* bytes) {
  auto* object = static_cast<PyCodeObject*>(const_cast<void*>(code));
  auto* record = new CodeRecord(object);
  *bytes = record->bytes();
  return record;
}

void PythonCodeKeeper::Delete(void* record) { delete static_cast<CodeRecord*>(record); }

}  // namespace pystack
}  // namespace oneflow
