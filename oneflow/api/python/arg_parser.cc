#include "oneflow/api/python/arg_parser.h"

#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include "oneflow/api/python/call_python.h"
#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/py_ref.h"
#include "oneflow/api/python/py_types.h"
#include "oneflow/functional/global_results.h"

namespace oneflow {

namespace {

bool IsNumberLike(PyObject* object) {
  if (PyFloat_Check(object) || PyLong_Check(object)) { return true; }
  if (IsTensor(object) || PySequence_Check(object) != 0) { return false; }
  const PyNumberMethods* number = Py_TYPE(object)->tp_as_number;  // numpy's scalars
  return number != nullptr && (number->nb_index != nullptr || number->nb_float != nullptr);
}

// A tensor that may stand for a number: no gradient would be lost by that.
bool IsNumberTensor(PyObject* object) {
  const TensorPtr& tensor = TensorValue(object);
  return tensor->Count() == 1 && tensor->ndim() <= 1 && !tensor->requires_grad();
}

std::optional<int64_t> Int64FromPython(PyObject* object, bool tensors) {
  PyRef number;
  if (!PyLong_Check(object)) {
    if (PyIndex_Check(object) == 0) { return std::nullopt; }
    if (IsTensor(object) &&
        !(tensors && IsNumberTensor(object) && IsIntegral(TensorValue(object)->dtype()))) {
      return std::nullopt;
    }
    number = PyRef::Steal(CallPython(PyNumber_Index, object));
    if (!number) {
      if (!IsTensor(object)) { PyErr_Clear(); }  // what reading a tensor raised is for the user
      return std::nullopt;
    }
    object = number.get();
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) { return std::nullopt; }
  return value;
}

bool IsTensorList(PyObject* object) {
  if (!PyTuple_Check(object) && !PyList_Check(object)) { return false; }
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!IsTensor(PySequence_Fast_GET_ITEM(object, i))) { return false; }
  }
  return true;
}

// numpy's bool is no subclass of Python's.
bool IsBool(PyObject* object) {
  if (PyBool_Check(object)) { return true; }
  const std::string_view type = Py_TYPE(object)->tp_name;
  return type == "numpy.bool_" || type == "numpy.bool";
}

// Calls convert(item) for each item of a tuple or list; nullopt where it is none, or an item does not
// convert. An item's conversion is foreign code: it may change the list.
template <typename T, typename Convert>
std::optional<std::vector<T>> ListFromPython(PyObject* object, const Convert& convert) {
  if (!PyTuple_Check(object) && !PyList_Check(object)) { return std::nullopt; }
  std::vector<T> list;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    const PyRef item = PyRef::Borrow(PySequence_Fast_GET_ITEM(object, i));
    const std::optional<T> value = convert(item.get());
    if (!value.has_value()) { return std::nullopt; }
    list.push_back(*value);
  }
  return list;
}

std::optional<std::vector<Scalar>> ScalarsFromPython(PyObject* object, bool tensors) {
  return ListFromPython<Scalar>(
      object, [tensors](PyObject* item) { return ScalarFromPython(item, tensors); });
}

std::optional<std::vector<int64_t>> IntsFromPython(PyObject* object, bool tensors) {
  return ListFromPython<int64_t>(
      object, [tensors](PyObject* item) { return Int64FromPython(item, tensors); });
}

std::optional<std::vector<Dims>> ShapesFromPython(PyObject* object) {
  return ListFromPython<Dims>(object, [](PyObject* item) -> std::optional<Dims> {
    if (!PyTuple_Check(item) && !PyList_Check(item)) { return std::nullopt; }
    return DimsFromPython(item);
  });
}

// With `size`: one integer stands for all.
std::optional<Dims> SizedDims(PyObject* object, int size, bool tensors) {
  std::optional<Dims> dims = DimsFromPython(object, tensors);
  if (!dims.has_value() || size == 0 || dims->size() == size) { return dims; }
  if (dims->size() != 1) { return std::nullopt; }
  return Dims(size, (*dims)[0]);
}

const char* TypeName(ParamType type) {
  switch (type) {
    case ParamType::kTensor: return "a Tensor";
    case ParamType::kOptionalTensor: return "a Tensor or None";
    case ParamType::kTensorList: return "a list or tuple of Tensors";
    case ParamType::kScalar: return "a number of at most 64 bits";
    case ParamType::kOptionalScalar: return "a number of at most 64 bits, or None";
    case ParamType::kScalarList: return "a list of numbers of at most 64 bits";
    case ParamType::kInt: return "an int of 64 bits";
    case ParamType::kOptionalInt: return "an int of 64 bits or None";
    case ParamType::kFloat: return "a float";
    case ParamType::kOptionalFloat: return "a float or None";
    case ParamType::kFloatList: return "a list of floats";
    case ParamType::kBool: return "a bool";
    case ParamType::kOptionalBool: return "a bool or None";
    case ParamType::kIntList: return "a list of at most 16 ints";
    case ParamType::kOptionalIntList: return "a list of at most 16 ints, or None";
    case ParamType::kLongIntList: return "a list of ints";
    case ParamType::kShapeList: return "a list of lists of at most 16 ints";
    case ParamType::kDataType: return "a dtype";
    case ParamType::kOptionalDataType: return "a dtype or None";
    case ParamType::kOptionalDevice: return "a device, its name, or None";
    case ParamType::kOptionalGenerator: return "a Generator or None";
    case ParamType::kString: return "a str";
    case ParamType::kOptionalString: return "a str or None";
    case ParamType::kIgnored: return "anything";
  }
  return "?";
}

bool Fits(const Param& param, PyObject* object, bool tensors) {
  switch (param.type) {
    case ParamType::kTensor: return IsTensor(object);
    case ParamType::kOptionalTensor: return object == Py_None || IsTensor(object);
    case ParamType::kTensorList: return IsTensorList(object);
    case ParamType::kScalar:
    case ParamType::kFloat: return ScalarFromPython(object, tensors).has_value();
    case ParamType::kOptionalScalar:
    case ParamType::kOptionalFloat:
      return object == Py_None || ScalarFromPython(object, tensors).has_value();
    case ParamType::kScalarList:
    case ParamType::kFloatList: return ScalarsFromPython(object, tensors).has_value();
    case ParamType::kInt: return Int64FromPython(object, tensors).has_value();
    case ParamType::kOptionalInt:
      return object == Py_None || Int64FromPython(object, tensors).has_value();
    case ParamType::kBool: return IsBool(object);
    case ParamType::kOptionalBool: return object == Py_None || IsBool(object);
    case ParamType::kIntList: return SizedDims(object, param.size, tensors).has_value();
    case ParamType::kOptionalIntList:
      return object == Py_None || SizedDims(object, param.size, tensors).has_value();
    case ParamType::kLongIntList: return IntsFromPython(object, tensors).has_value();
    case ParamType::kShapeList: return ShapesFromPython(object).has_value();
    case ParamType::kDataType: return IsDtype(object);
    case ParamType::kOptionalDataType: return object == Py_None || IsDtype(object);
    case ParamType::kOptionalDevice:
      if (object == Py_None || IsDevice(object)) { return true; }
      return PyUnicode_Check(object);
    case ParamType::kOptionalGenerator: return object == Py_None || IsGenerator(object);
    case ParamType::kString: return PyUnicode_Check(object);
    case ParamType::kOptionalString: return object == Py_None || PyUnicode_Check(object);
    case ParamType::kIgnored: return true;
  }
  return false;
}

bool ItemFits(ParamType type, PyObject* item) {
  switch (type) {
    case ParamType::kTensorList: return IsTensor(item);
    case ParamType::kScalarList:
    case ParamType::kFloatList: return ScalarFromPython(item, true).has_value();
    case ParamType::kIntList:
    case ParamType::kOptionalIntList:
    case ParamType::kLongIntList: return Int64FromPython(item, true).has_value();
    default: return true;
  }
}

// What came; of a list or tuple, the first item that does not fit.
std::string Got(ParamType type, PyObject* object) {
  const char* name = object == Py_None ? "None" : Py_TYPE(object)->tp_name;
  if (!PyList_Check(object) && !PyTuple_Check(object)) { return name; }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(object, i);
    if (ItemFits(type, item)) { continue; }
    return Format("a {} with {} as item {}", name,
                  item == Py_None ? "None" : Py_TYPE(item)->tp_name, static_cast<int64_t>(i));
  }
  return name;
}

std::string Mismatch(const Param& param, PyObject* object) {
  std::string got = Got(param.type, object);
  if (PyLong_CheckExact(object) && !Int64FromPython(object, false).has_value()) {
    got = "an int past 64 bits";
  }
  if (param.size > 0) {
    return Format("expects argument '{}' to be an int or a list of {} ints{}, got {}", param.name,
                  static_cast<int>(param.size),
                  param.type == ParamType::kOptionalIntList ? ", or None" : "", got);
  }
  return Format("expects argument '{}' to be {}, got {}", param.name, TypeName(param.type), got);
}

}  // namespace

std::optional<Scalar> ScalarFromPython(PyObject* object, bool tensors) {
  if (PyFloat_Check(object)) { return Scalar(PyFloat_AS_DOUBLE(object)); }
  if (PyBool_Check(object)) { return Scalar(object == Py_True); }
  const bool is_tensor = tensors && IsTensor(object) && IsNumberTensor(object);
  if (!is_tensor && !IsNumberLike(object)) { return std::nullopt; }
  if (is_tensor ? IsIntegral(TensorValue(object)->dtype()) : PyIndex_Check(object) != 0) {
    const std::optional<int64_t> value = Int64FromPython(object, tensors);
    if (!value.has_value()) { return std::nullopt; }
    return Scalar(*value);
  }
  const double value = CallPython(PyFloat_AsDouble, object);
  if (value == -1.0 && PyErr_Occurred() != nullptr) {
    if (!is_tensor) { PyErr_Clear(); }
    return std::nullopt;
  }
  return Scalar(value);
}

std::optional<Dims> DimsFromPython(PyObject* object, bool tensors) {
  Dims dims;
  if (!PyTuple_Check(object) && !PyList_Check(object)) {
    const std::optional<int64_t> value = Int64FromPython(object, tensors);
    if (!value.has_value()) { return std::nullopt; }
    dims.PushBack(*value);
    return dims;
  }
  // An item's __index__ is foreign code: it may change the list.
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    if (i >= kMaxDims) { return std::nullopt; }
    const PyRef item = PyRef::Borrow(PySequence_Fast_GET_ITEM(object, i));
    const std::optional<int64_t> value = Int64FromPython(item.get(), tensors);
    if (!value.has_value()) { return std::nullopt; }
    dims.PushBack(*value);
  }
  return dims;
}

int ArgParser::Match(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  for (int s = 0; s < count_; ++s) {
    if (Bind(signatures_[s], self, args, nargs, kwnames, nullptr)) { return s; }
  }
  tensors_as_numbers_ = true;
  for (int s = 0; s < count_; ++s) {
    if (PyErr_Occurred() != nullptr) { return -1; }  // what waiting for a tensor raised
    if (Bind(signatures_[s], self, args, nargs, kwnames, nullptr)) { return s; }
  }
  if (PyErr_Occurred() != nullptr) { return -1; }
  RaiseMismatch(self, args, nargs, kwnames);
  return -1;
}

// `why` is only filled in for the message: matching itself formats no text.
bool ArgParser::Bind(const Signature& signature, PyObject* self, PyObject* const* args,
                     Py_ssize_t nargs, PyObject* kwnames, std::string* why) {
  const Param* params = signature.params;
  bound_ = &signature;
  for (int i = 0; i < signature.num_params; ++i) { slots_[i] = nullptr; }
  varargs_slot_ = -1;
  int next = 0;
  if (self != nullptr) { slots_[next++] = self; }
  Py_ssize_t used = 0;
  for (; used < nargs && next < signature.num_params && !params[next].keyword_only; ++next) {
    const Param& param = params[next];
    PyObject* arg = args[used];
    const bool tensors = param.type == ParamType::kTensorList;
    if (param.varargs && !PyTuple_Check(arg) && !PyList_Check(arg) && arg != Py_None &&
        !(tensors && nargs - used < 2)) {
      varargs_ = args + used;
      num_varargs_ = static_cast<int>(nargs - used);
      for (; used < nargs; ++used) {
        if (tensors ? !IsTensor(args[used])
                    : !Int64FromPython(args[used], tensors_as_numbers_).has_value() ||
                          num_varargs_ > kMaxDims) {
          if (why != nullptr) { *why = Mismatch(param, args[used]); }
          return false;
        }
      }
      varargs_slot_ = next;
      slots_[next] = Py_Ellipsis;  // a mark: present, see IntList and TensorList
      ++next;
      break;
    }
    if (!Fits(param, arg, tensors_as_numbers_)) {
      if (why != nullptr) { *why = Mismatch(param, arg); }
      return false;
    }
    slots_[next] = arg;
    ++used;
  }
  if (used < nargs) {
    if (why != nullptr) {
      *why = Format("expects at most {} positional arguments, got {}", next, nargs);
    }
    return false;
  }
  if (kwnames != nullptr && !BindKeywords(signature, args + nargs, kwnames, why)) { return false; }
  for (int i = 0; i < signature.num_params; ++i) {
    if (slots_[i] == nullptr && params[i].required) {
      if (why != nullptr) { *why = Format("expects argument '{}', got none", params[i].name); }
      return false;
    }
  }
  return true;
}

bool ArgParser::BindKeywords(const Signature& signature, PyObject* const* values, PyObject* kwnames,
                             std::string* why) {
  const Py_ssize_t n = PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t k = 0; k < n; ++k) {
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, k));
    if (name == nullptr) {
      PyErr_Clear();
      name = "?";
    }
    int found = -1;
    for (int i = 0; i < signature.num_params && found < 0; ++i) {
      if (std::strcmp(signature.params[i].name, name) == 0) { found = i; }
    }
    if (found < 0 || slots_[found] != nullptr) {
      if (why != nullptr) {
        *why = Format(found < 0 ? "expects arguments that it has, got '{}'"
                                : "expects argument '{}' once, got it twice",
                      name);
      }
      return false;
    }
    if (!Fits(signature.params[found], values[k], tensors_as_numbers_)) {
      if (why != nullptr) { *why = Mismatch(signature.params[found], values[k]); }
      return false;
    }
    slots_[found] = values[k];
  }
  return true;
}

void ArgParser::RaiseMismatch(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                              PyObject* kwnames) {
  std::string text;
  for (int s = 0; s < count_; ++s) {
    std::string why;
    Bind(signatures_[s], self, args, nargs, kwnames, &why);
    text += count_ == 1 ? Format("[{}] {}\n  {}", op_, why, signatures_[s].text)
                        : Format("\n  {}: {}", signatures_[s].text, why);
  }
  if (count_ != 1) {
    text = Format("[{}] expects one of its forms, got arguments that fit none:", op_) + text;
  }
  const ErrorPtr error = MakeIntrusive<Error>(ErrorKind::kType, std::move(text));
  error->set_op(op_);
  RaiseError(error);
}

namespace {

// An object that was a number when it was matched, and is none any more: its conversion is foreign
// code. The error is raised in place of the op's result.
template <typename T>
T Settled(const std::optional<T>& value, T otherwise) {
  if (value.has_value()) { return *value; }
  if (PyErr_Occurred() == nullptr) {
    PyErr_SetString(PyExc_TypeError, "an argument changed its value while it was read");
  }
  return otherwise;
}

}  // namespace

const TensorPtr& ArgParser::Tensor(int i) {
  const TensorPtr& tensor = TensorValue(slots_[i]);
  if (__builtin_expect(tensor->global() != nullptr, 0) && global_ == nullptr) {
    global_ = tensor.get();
  }
  return tensor;
}

TensorPtr ArgParser::OptionalTensor(int i) { return Given(i) ? Tensor(i) : TensorPtr(); }

TensorTuple ArgParser::TensorList(int i) {
  TensorTuple list;
  if (!Given(i) && !bound_->params[i].required) { return list; }
  const bool separate = i == varargs_slot_;
  if (!separate && !IsTensorList(slots_[i])) {  // it was when it was matched
    PyErr_SetString(PyExc_TypeError, "a list changed while it was read");
    return list;
  }
  const Py_ssize_t n = separate ? num_varargs_ : PySequence_Fast_GET_SIZE(slots_[i]);
  PyObject* const* items = separate ? varargs_ : PySequence_Fast_ITEMS(slots_[i]);
  for (Py_ssize_t k = 0; k < n; ++k) {
    list.push_back(TensorValue(items[k]));
    if (global_ == nullptr && list.back()->global() != nullptr) { global_ = list.back().get(); }
  }
  return list;
}

Scalar ArgParser::GetScalar(int i, Scalar default_value) {
  return Given(i) ? Settled(ScalarFromPython(slots_[i], true), default_value) : default_value;
}

std::optional<Scalar> ArgParser::OptionalScalar(int i) {
  return Given(i) ? ScalarFromPython(slots_[i], true) : std::nullopt;
}

std::vector<Scalar> ArgParser::ScalarList(int i, std::vector<Scalar> default_value) {
  return Given(i) ? Settled(ScalarsFromPython(slots_[i], true), default_value) : default_value;
}

int64_t ArgParser::Int(int i, int64_t default_value) {
  return Given(i) ? Settled(Int64FromPython(slots_[i], true), default_value) : default_value;
}

std::optional<int64_t> ArgParser::OptionalInt(int i) {
  return Given(i) ? Int64FromPython(slots_[i], true) : std::nullopt;
}

double ArgParser::Float(int i, double default_value) {
  return Given(i) ? Settled(ScalarFromPython(slots_[i], true), Scalar(0.0)).To<double>()
                  : default_value;
}

std::optional<double> ArgParser::OptionalFloat(int i) {
  if (!Given(i)) { return std::nullopt; }
  return Float(i, 0.0);
}

std::vector<double> ArgParser::FloatList(int i, std::vector<double> default_value) {
  if (!Given(i)) { return default_value; }
  std::vector<double> list;
  for (const Scalar& value : ScalarList(i, {})) { list.push_back(value.To<double>()); }
  return list;
}

bool ArgParser::Bool(int i, bool default_value) {
  if (!Given(i)) { return default_value; }
  return PyBool_Check(slots_[i]) ? slots_[i] == Py_True : PyObject_IsTrue(slots_[i]) == 1;
}

std::optional<bool> ArgParser::OptionalBool(int i) {
  if (!Given(i)) { return std::nullopt; }
  return Bool(i, false);
}

Dims ArgParser::IntList(int i, const Dims& default_value) {
  if (!Given(i)) { return default_value; }
  if (i != varargs_slot_) {
    return Settled(SizedDims(slots_[i], bound_->params[i].size, true), Dims());
  }
  Dims dims;
  for (int k = 0; k < num_varargs_; ++k) {
    dims.PushBack(Settled(Int64FromPython(varargs_[k], true), int64_t{0}));
  }
  return dims;
}

std::optional<Dims> ArgParser::OptionalIntList(int i) {
  if (!Given(i)) { return std::nullopt; }
  return IntList(i, Dims());
}

std::vector<int64_t> ArgParser::LongIntList(int i, std::vector<int64_t> default_value) {
  return Given(i) ? Settled(IntsFromPython(slots_[i], true), default_value) : default_value;
}

std::vector<Dims> ArgParser::ShapeList(int i) {
  return Settled(ShapesFromPython(slots_[i]), std::vector<Dims>());
}

DataType ArgParser::GetDataType(int i, DataType default_value) {
  return Given(i) ? DtypeValue(slots_[i]) : default_value;
}

std::optional<DataType> ArgParser::OptionalDataType(int i) {
  if (!Given(i)) { return std::nullopt; }
  return DtypeValue(slots_[i]);
}

std::optional<Device> ArgParser::OptionalDevice(int i) {
  if (!Given(i)) { return std::nullopt; }
  return DeviceFromPython(slots_[i]);
}

GeneratorPtr ArgParser::OptionalGenerator(int i) {
  return Given(i) ? GeneratorValue(slots_[i]) : GeneratorPtr();
}

std::string ArgParser::String(int i, const char* default_value) {
  if (!Given(i)) { return default_value; }
  const char* text = PyUnicode_AsUTF8(slots_[i]);
  if (text == nullptr) {  // lone surrogates: no name of ours has them, so it will be refused
    PyErr_Clear();
    return "?";
  }
  return text;
}

std::optional<std::string> ArgParser::OptionalString(int i) {
  if (!Given(i)) { return std::nullopt; }
  return String(i, "");
}

PyObject* WrapResult(Maybe<TensorPtr>&& result) {
  // A conversion that the parser could not rule out (a device name) may have raised already.
  if (__builtin_expect(PyErr_Occurred() != nullptr, 0)) { return nullptr; }
  return WrapTensor(PY_JUST_OP(std::move(result)));
}

PyObject* WrapResult(Maybe<TensorTuple>&& result) {
  if (PyErr_Occurred() != nullptr) { return nullptr; }
  const TensorTuple tensors = PY_JUST_OP(std::move(result));
  PyRef tuple = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  if (!tuple) { return nullptr; }
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject* item = WrapTensor(tensors[i]);
    if (item == nullptr) { return nullptr; }
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item);
  }
  return tuple.Release();
}

namespace {

PyTypeObject* TypeOf(ResultNames* names) {
  if (names->type != nullptr) { return names->type; }
  PyStructSequence_Field fields[std::size(names->fields)] = {};
  int count = 0;
  for (; names->fields[count] != nullptr; ++count) { fields[count].name = names->fields[count]; }
  // Never freed: Python 3.10 keeps the pointer.
  const auto* name = new std::string(std::string("oneflow.return_types.") + names->op);
  PyStructSequence_Desc desc = {name->c_str(), nullptr, fields, count};
  names->type = PyStructSequence_NewType(&desc);
  return names->type;
}

}  // namespace

PyObject* WrapResult(Maybe<TensorTuple>&& result, ResultNames* names) {
  if (PyErr_Occurred() != nullptr) { return nullptr; }
  const TensorTuple tensors = PY_JUST_OP(std::move(result));
  PyTypeObject* type = TypeOf(names);
  PyRef tuple = PyRef::Steal(type == nullptr ? nullptr : PyStructSequence_New(type));
  if (!tuple) { return nullptr; }
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject* item = WrapTensor(tensors[i]);
    if (item == nullptr) { return nullptr; }
    PyStructSequence_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item);
  }
  return tuple.Release();
}

PyObject* WrapResult(Maybe<TensorChoice>&& result) {
  if (PyErr_Occurred() != nullptr) { return nullptr; }
  TensorChoice choice = PY_JUST_OP(std::move(result));
  if (!choice.is_list) { return WrapTensor(std::move(choice.tensors[0])); }
  return WrapResult(Maybe<TensorTuple>(std::move(choice.tensors)));
}

PyObject* WrapResult(Maybe<void>&& result) {
  if (PyErr_Occurred() != nullptr) { return nullptr; }
  PY_JUST_OP(std::move(result));
  Py_RETURN_NONE;
}

namespace {

// What somebody else holds too is no result of this call: an argument that is handed back.
void MakeGlobalIfNew(const TensorPtr& tensor, const Tensor& like) {
  if (tensor == nullptr || tensor->global() != nullptr || tensor->ref_count() != 1) { return; }
  MakeGlobalLike(tensor, like);
}

}  // namespace

void MakeResultGlobal(const Maybe<TensorPtr>& result, const Tensor& like) {
  if (result.ok()) { MakeGlobalIfNew(result.value(), like); }
}

void MakeResultGlobal(const Maybe<TensorTuple>& result, const Tensor& like) {
  if (!result.ok()) { return; }
  for (const TensorPtr& tensor : result.value()) { MakeGlobalIfNew(tensor, like); }
}

void MakeResultGlobal(const Maybe<TensorChoice>& result, const Tensor& like) {
  if (!result.ok()) { return; }
  for (const TensorPtr& tensor : result.value().tensors) { MakeGlobalIfNew(tensor, like); }
}

}  // namespace oneflow
