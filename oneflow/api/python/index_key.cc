#include "oneflow/api/python/index_key.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/methods.h"
#include "oneflow/api/python/py_ref.h"
#include "oneflow/api/python/py_types.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow {

namespace {

enum class Kind { kInteger, kSlice, kNewDim, kEllipsis, kTensor };

struct Item {
  Kind kind;
  PyRef object;
  TensorPtr tensor;  // of a kTensor
};

bool IsMask(const TensorPtr& index) {
  return index->dtype() == DataType::kBool || index->dtype() == DataType::kUInt8;
}

// How many dims of x an item takes up.
int DimsTaken(const Item& item) {
  switch (item.kind) {
    case Kind::kInteger:
    case Kind::kSlice: return 1;
    case Kind::kTensor: return IsMask(item.tensor) ? item.tensor->ndim() : 1;
    default: return 0;
  }
}

bool IsNumpyBool(PyObject* object) {
  const std::string_view type = Py_TYPE(object)->tp_name;
  return type == "numpy.bool_" || type == "numpy.bool";
}

Maybe<TensorPtr> BoolTensor(bool value) {
  return functional::full(Dims(), Scalar(value), DataType::kBool, Device());
}

// A list, an array, anything that numpy can make an array of.
Maybe<TensorPtr> TensorOf(PyObject* object) {
  PyRef made = PyRef::Steal(TensorFromPython(object));
  if (!made) { return TakePythonError(); }
  const TensorPtr& tensor = TensorValue(made.get());
  const bool empty_list = PyList_Check(object) && tensor->Count() == 0;
  // An array of bytes holds numbers, as for numpy; a tensor of them is a mask.
  if (empty_list || (tensor->dtype() == DataType::kUInt8)) {
    return functional::cast(tensor, DataType::kInt64);
  }
  return tensor;
}

Maybe<Item> ReadItem(const char* op, PyObject* object) {
  PyRef owned = PyRef::Borrow(object);
  if (object == Py_Ellipsis) { return Item{Kind::kEllipsis, std::move(owned), nullptr}; }
  if (object == Py_None) { return Item{Kind::kNewDim, std::move(owned), nullptr}; }
  if (PySlice_Check(object)) { return Item{Kind::kSlice, std::move(owned), nullptr}; }
  if (IsTensor(object)) {
    const TensorPtr& tensor = TensorValue(object);
    if (tensor->ndim() == 0 && IsIntegral(tensor->dtype()) && !IsMask(tensor)) {
      return Item{Kind::kInteger, std::move(owned), nullptr};
    }
    return Item{Kind::kTensor, std::move(owned), tensor};
  }
  if (PyBool_Check(object) || IsNumpyBool(object)) {
    const bool value = PyObject_IsTrue(object) == 1;
    return Item{Kind::kTensor, std::move(owned), JUST(BoolTensor(value))};
  }
  if (PyIndex_Check(object) != 0 && !IsNumpyArray(object)) {
    return Item{Kind::kInteger, std::move(owned), nullptr};
  }
  if (PyList_Check(object) || PyTuple_Check(object) || IsNumpyArray(object)) {
    TensorPtr tensor = JUST(TensorOf(object));
    return Item{Kind::kTensor, std::move(owned), std::move(tensor)};
  }
  return IndexError(
      "[{}] expects ints, slices, None, ..., bools, lists, arrays or tensors as indices, "
      "got {}",
      op, Py_TYPE(object)->tp_name);
}

// A list that holds lists, tensors or slices stands for a tuple of them, as in OneFlow; numpy (from 1.23
// on) makes one array of it. Long ones are arrays.
bool IsListOfIndices(PyObject* key) {
  if (!PyList_Check(key) || PyList_GET_SIZE(key) >= 32) { return false; }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(key); ++i) {
    PyObject* item = PyList_GET_ITEM(key, i);
    const bool dims = IsTensor(item) && TensorValue(item)->ndim() > 0;
    if (dims || PyList_Check(item) || PyTuple_Check(item) || PySlice_Check(item) ||
        item == Py_Ellipsis || item == Py_None) {
      return true;
    }
  }
  return false;
}

Maybe<std::vector<Item>> ReadItems(const char* op, PyObject* key) {
  std::vector<Item> items;
  if (!PyTuple_Check(key) && !IsListOfIndices(key)) {
    items.push_back(JUST(ReadItem(op, key)));
    return items;
  }
  // Reading an item may run code of the user, which may change a list.
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(key); ++i) {
    const PyRef item = PyRef::Borrow(PySequence_Fast_GET_ITEM(key, i));
    items.push_back(JUST(ReadItem(op, item.get())));
  }
  return items;
}

// Applies items one by one. `dim` is the next dim of the view, `taken` that of x.
class Reader {
 public:
  Reader(const char* op, const TensorPtr& x, int ellipsis_dims)
      : op_(op), x_(x), ellipsis_dims_(ellipsis_dims) {
    out_.view = x;
  }

  Maybe<void> Apply(const Item& item) {
    switch (item.kind) {
      case Kind::kInteger: return Integer(item.object.get());
      case Kind::kSlice: return Slice(item.object.get());
      case Kind::kNewDim: return NewDim();
      case Kind::kEllipsis: return Skip(ellipsis_dims_);
      case Kind::kTensor: return Index(item.tensor);
    }
    return Ok();
  }

  IndexKey& out() { return out_; }

 private:
  Maybe<void> Skip(int dims) {
    for (int i = 0; i < dims; ++i) { out_.indices.push_back(nullptr); }
    dim_ += dims;
    taken_ += dims;
    return Ok();
  }

  Maybe<void> NewDim() {
    out_.view = JUST(functional::unsqueeze(out_.view, dim_++));
    out_.indices.push_back(nullptr);
    return Ok();
  }

  Maybe<void> Integer(PyObject* index) {
    const Py_ssize_t value = PyNumber_AsSsize_t(index, PyExc_IndexError);
    if (value == -1 && PyErr_Occurred() != nullptr) { return TakePythonError(); }
    const int64_t size = x_->shape()[taken_];
    if (value < -size || value >= size) {
      return IndexError("[{}] expects an index in [{}, {}) for dimension {} of shape {}, got {}",
                        op_, -size, size, taken_, x_->shape(), static_cast<int64_t>(value));
    }
    out_.view = JUST(functional::select(out_.view, dim_, value));
    ++taken_;
    return Ok();
  }

  Maybe<void> Slice(PyObject* index) {
    Py_ssize_t start = 0;
    Py_ssize_t stop = 0;
    Py_ssize_t step = 0;
    if (PySlice_Unpack(index, &start, &stop, &step) != 0) { return TakePythonError(); }
    const int64_t size = x_->shape()[taken_];
    const Py_ssize_t count =
        PySlice_AdjustIndices(static_cast<Py_ssize_t>(size), &start, &stop, step);
    if (step < 0) {  // the same elements the other way round
      start = count == 0 ? 0 : start + (count - 1) * step;
      step = -step;
      out_.flipped.PushBack(dim_);
    }
    if (start != 0 || step != 1 || count != size) {
      const Py_ssize_t end = count == 0 ? start : start + (count - 1) * step + 1;
      out_.view = JUST(functional::slice(out_.view, dim_, start, end, step));
    }
    return Skip(1);
  }

  Maybe<void> Index(TensorPtr index) {
    out_.indexed = true;
    if (IsMask(index) && index->ndim() == 0) {  // a dim of its own: all of it, or nothing
      out_.view = JUST(functional::unsqueeze(out_.view, dim_++));
      out_.indices.push_back(JUST(functional::view(index, Dims{1})));
      return Ok();
    }
    const int dims = IsMask(index) ? index->ndim() : 1;
    JUST(CheckMask(index, dims));
    out_.indices.push_back(std::move(index));
    dim_ += dims;
    taken_ += dims;
    return Ok();
  }

  Maybe<void> CheckMask(const TensorPtr& index, int dims) {
    for (int d = 0; IsMask(index) && d < dims; ++d) {
      if (index->shape()[d] == x_->shape()[taken_ + d]) { continue; }
      return IndexError(
          "[{}] expects a mask that matches the dims of shape {} from dim {} on, got a "
          "mask of shape {}",
          op_, x_->shape(), taken_, index->shape());
    }
    return Ok();
  }

  const char* const op_;
  const TensorPtr x_;
  const int ellipsis_dims_;
  IndexKey out_;
  int dim_ = 0;
  int taken_ = 0;
};

}  // namespace

Maybe<IndexKey> ReadIndexKey(const char* op, const TensorPtr& x, PyObject* key) {
  const std::vector<Item> items = JUST(ReadItems(op, key));
  int taken = 0;
  int ellipses = 0;
  for (const Item& item : items) {
    taken += DimsTaken(item);
    ellipses += item.kind == Kind::kEllipsis ? 1 : 0;
  }
  if (taken > x->ndim() || ellipses > 1) {
    return IndexError("[{}] expects at most {} indices and one ... for shape {}, got {} and {}", op,
                      x->ndim(), x->shape(), taken, ellipses);
  }
  Reader reader(op, x, x->ndim() - taken);
  for (const Item& item : items) { JUST(reader.Apply(item)); }
  return std::move(reader.out());
}

}  // namespace oneflow
