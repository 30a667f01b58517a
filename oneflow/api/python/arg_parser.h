// ArgParser: binds a Python call (vectorcall form) to one of an op's signatures.
//
// A signature either fits or it does not, by the types of the arguments alone; overloads are tried
// in order. Only when none fits are tensors of one element taken for numbers. Everything that can fail is checked while matching (an integer past 64 bits does not
// fit), so that the accessors can not.
//
// Thread safety: one object for each call, on the stack, with the GIL held. Slots are borrowed.
#ifndef ONEFLOW_API_PYTHON_ARG_PARSER_H_
#define ONEFLOW_API_PYTHON_ARG_PARSER_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/core/device.h"
#include "oneflow/core/generator.h"
#include "oneflow/core/scalar.h"
#include "oneflow/functional/call_types.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow {

enum class ParamType : uint8_t {
  kTensor,
  kOptionalTensor,
  kTensorList,
  kScalar,
  kOptionalScalar,
  kScalarList,
  kInt,
  kOptionalInt,
  kFloat,
  kOptionalFloat,
  kFloatList,
  kBool,
  kOptionalBool,
  kIntList,
  kOptionalIntList,
  kLongIntList,
  kShapeList,
  kDataType,
  kOptionalDataType,
  kOptionalDevice,
  kOptionalGenerator,
  kString,
  kOptionalString,
  kIgnored,
};

struct Param {
  const char* name;
  ParamType type;
  bool required;
  bool keyword_only;
  bool varargs;     // a list that may also be given as separate arguments: view(2, 3), add(x, y, z)
  int8_t size = 0;  // of an int list with a fixed number of entries; one given stands for all
};

struct Signature {
  const char* text;  // as in the op table, for messages
  const Param* params;
  int num_params;
};

class ArgParser {
 public:
  static constexpr int kMaxParams = 24;

  ArgParser(const char* op, const Signature* signatures, int count)
      : op_(op), signatures_(signatures), count_(count) {}

  // The first signature that fits; -1 with a TypeError set that says for each why it does not.
  int Match(PyObject* self_or_null, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

  // Present, and not None.
  bool Given(int i) const { return slots_[i] != nullptr && slots_[i] != Py_None; }

  const TensorPtr& Tensor(int i);
  TensorPtr OptionalTensor(int i);
  TensorTuple TensorList(int i);
  Scalar GetScalar(int i, Scalar default_value);
  std::optional<Scalar> OptionalScalar(int i);
  std::vector<Scalar> ScalarList(int i, std::vector<Scalar> default_value);
  int64_t Int(int i, int64_t default_value);
  std::optional<int64_t> OptionalInt(int i);
  double Float(int i, double default_value);
  std::optional<double> OptionalFloat(int i);
  std::vector<double> FloatList(int i, std::vector<double> default_value);
  bool Bool(int i, bool default_value);
  std::optional<bool> OptionalBool(int i);
  Dims IntList(int i, const Dims& default_value);
  std::optional<Dims> OptionalIntList(int i);
  std::vector<int64_t> LongIntList(int i, std::vector<int64_t> default_value);
  std::vector<Dims> ShapeList(int i);
  DataType GetDataType(int i, DataType default_value);
  std::optional<DataType> OptionalDataType(int i);
  std::optional<Device> OptionalDevice(int i);
  GeneratorPtr OptionalGenerator(int i);
  std::string String(int i, const char* default_value);
  std::optional<std::string> OptionalString(int i);

  // WrapResult (below) of this call's result. Where an argument was a global tensor, so are results
  // that were made of its shape alone.
  template <typename Result, typename... Names>
  PyObject* Finish(Maybe<Result>&& result, Names... names);

 private:
  bool Bind(const Signature& signature, PyObject* self, PyObject* const* args, Py_ssize_t nargs,
            PyObject* kwnames, std::string* why);
  bool BindKeywords(const Signature& signature, PyObject* const* values, PyObject* kwnames,
                    std::string* why);
  void RaiseMismatch(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

  const char* op_;
  const Signature* signatures_;
  int count_;
  bool tensors_as_numbers_ = false;
  const Signature* bound_ = nullptr;
  const oneflow::Tensor* global_ = nullptr;  // the first argument that is a global tensor
  PyObject* slots_[kMaxParams];
  PyObject* const* varargs_ = nullptr;
  int num_varargs_ = 0;
  int varargs_slot_ = -1;
};

// A Scalar from a Python or numpy number; nullopt (without an exception) when it is none, or an
// integer past 64 bits. With `tensors` also from a tensor of one element, whose value is waited for.
std::optional<Scalar> ScalarFromPython(PyObject* object, bool tensors = false);
// Integers of a tuple or list, or one integer; nullopt otherwise.
std::optional<Dims> DimsFromPython(PyObject* object, bool tensors = false);

// The result of a binding: the Python object, or nullptr with the exception set.
PyObject* WrapResult(Maybe<TensorPtr>&& result);
PyObject* WrapResult(Maybe<TensorTuple>&& result);
PyObject* WrapResult(Maybe<TensorChoice>&& result);
PyObject* WrapResult(Maybe<void>&& result);

// The results of an op by name: `flow.max(x, 0).values`. The type, a tuple of Python, is made at the
// first use, and kept.
struct ResultNames {
  const char* op;
  const char* fields[5];  // ended by nullptr
  PyTypeObject* type = nullptr;
};
PyObject* WrapResult(Maybe<TensorTuple>&& result, ResultNames* names);

void MakeResultGlobal(const Maybe<TensorPtr>& result, const Tensor& like);
void MakeResultGlobal(const Maybe<TensorTuple>& result, const Tensor& like);
void MakeResultGlobal(const Maybe<TensorChoice>& result, const Tensor& like);
inline void MakeResultGlobal(const Maybe<void>&, const Tensor&) {}

template <typename Result, typename... Names>
PyObject* ArgParser::Finish(Maybe<Result>&& result, Names... names) {
  if (__builtin_expect(global_ != nullptr, 0)) { MakeResultGlobal(result, *global_); }
  return WrapResult(std::move(result), names...);
}

}  // namespace oneflow

#endif  // ONEFLOW_API_PYTHON_ARG_PARSER_H_
