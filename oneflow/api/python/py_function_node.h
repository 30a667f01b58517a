// FunctionNode: the tape's node for one application of an autograd.Function. Its Apply() calls the
// class's backward.
//
// Thread safety: with the GIL held; backward runs on the thread that called it.
#ifndef ONEFLOW_API_PYTHON_PY_FUNCTION_NODE_H_
#define ONEFLOW_API_PYTHON_PY_FUNCTION_NODE_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <vector>

#include "oneflow/api/python/py_function_ctx.h"
#include "oneflow/api/python/py_ref.h"
#include "oneflow/api/python/tape_gc.h"
#include "oneflow/autograd/node.h"

namespace oneflow {

class FunctionNode : public Node {
 public:
  // An argument of forward: its edge, or -1 where it was no tensor.
  struct Argument {
    int edge = -1;
    TensorMeta meta;
  };
  // An output of forward. `tensor`: it was one.
  struct Output {
    bool tensor = false;
    TensorMeta meta;
  };

  FunctionNode(std::string name, PyRef function, PyRef ctx, std::vector<Argument> arguments,
               std::vector<Output> outputs);
  ~FunctionNode() override;

  const char* name() const override { return name_.c_str(); }
  Maybe<void> Apply(const TensorTuple& dys, TensorTuple* dxs) override;
  void ReleaseSaved() override;
  void VisitTensors(const std::function<void(const Tensor*)>& visit) const override;
  std::vector<void*> HostObjects() const override { return {function_.get(), ctx_.get()}; }

  // `output`: which output of this node the tensor is, or -1.
  void Save(const TensorPtr& tensor, int output);
  // What was saved, with its history; null for None. RuntimeError if it was released by backward(),
  // or changed in place since.
  Maybe<TensorTuple> Saved() const;
  bool released() const { return released_; }

 private:
  struct SavedTensor {
    TensorPtr tensor;  // of an output: an alias without history (else the node owned itself)
    int output = -1;
    uint32_t version = 0;
  };

  FunctionCtx* ctx() const { return reinterpret_cast<FunctionCtx*>(ctx_.get()); }
  Maybe<TensorPtr> Unpack(size_t i) const;
  PyRef Arguments(const TensorTuple& dys) const;
  Maybe<void> TakeResults(PyObject* result, TensorTuple* dxs) const;
  Maybe<void> TakeResult(size_t i, PyObject* value, TensorTuple* dxs) const;

  const std::string name_;
  const PyRef function_;  // the class
  const PyRef ctx_;
  const OnTape on_tape_;
  const std::vector<Argument> arguments_;
  const std::vector<Output> outputs_;
  std::vector<SavedTensor> saved_;
  bool released_ = false;
};

}  // namespace oneflow

#endif  // ONEFLOW_API_PYTHON_PY_FUNCTION_NODE_H_
