// The recurrent layers, forward and backward, against their references.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs_linalg.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

HostArray Random(Rng* rng, DataType dtype, const Dims& shape) {
  HostArray array(dtype, shape);
  for (int64_t i = 0; i < array.count(); ++i) {
    array.Set(i, static_cast<double>(Pick(rng, -100, 100)) / 100.0);
  }
  return array;
}

struct Kind {
  const char* op;
  int64_t gates, saved;
  bool has_cell, has_db;
};
const Kind kKinds[] = {{"lstm_layer", 4, 5, true, false},
                       {"gru_layer", 3, 4, false, true},
                       {"rnn_layer", 1, 0, false, false}};

// Sizes of steps that never grow; the rows are their sum.
Dims RandomSteps(Rng* rng, int64_t batch, int64_t* rows) {
  Dims steps;
  int64_t size = batch;
  *rows = 0;
  for (int64_t t = Pick(rng, 1, 6); t > 0 && size > 0; --t) {
    steps.PushBack(size);
    *rows += size;
    size -= Pick(rng, 0, OneIn(rng, 2) ? 1 : size);
  }
  return steps;
}

class Case {
 public:
  // hidden 0: any.
  Case(Rng* rng, const Kind& kind, int64_t hidden = 0)
      : kind_(kind),
        dtype_(OneIn(rng, 3) ? DataType::kDouble : DataType::kFloat),
        batch_(Pick(rng, 1, 6)),
        n_(hidden > 0      ? hidden
           : OneIn(rng, 8) ? Pick(rng, 60, 130)
                           : Pick(rng, 1, 9)),
        steps_(RandomSteps(rng, batch_, &rows_)),
        sizes_(DataType::kInt64, {steps_.size()}) {
    attrs_.reverse = OneIn(rng, 2);
    attrs_.relu = OneIn(rng, 2);
    packed_ = OneIn(rng, 2);
    if (!packed_) { rows_ = batch_ * steps_.size(); }
    for (int i = 0; i < steps_.size(); ++i) { sizes_.Set(i, static_cast<double>(steps_[i])); }
  }

  void Run(Rng* rng) {
    const int64_t in = Pick(rng, 1, 9), width = kind_.gates * n_;
    const HostArray x = Random(rng, dtype_, {rows_, in});
    const HostArray h0 = State(rng), c0 = State(rng);
    const HostArray w_ih = Random(rng, dtype_, {width, in});
    const HostArray w_hh = Random(rng, dtype_, {width, n_});
    const HostArray b_ih = Random(rng, dtype_, {width}), b_hh = Random(rng, dtype_, {width});
    const bool biased = OneIn(rng, 2);
    Arrays inputs = {&x, Sizes(), &h0};
    if (kind_.has_cell) { inputs.push_back(&c0); }
    for (const HostArray* w : {&w_ih, &w_hh}) { inputs.push_back(w); }
    for (const HostArray* b : {&b_ih, &b_hh}) { inputs.push_back(biased ? b : nullptr); }
    HostArray y(dtype_, {rows_, n_}), saved(dtype_, {rows_, kind_.saved * n_});
    HostArray hn(dtype_, {batch_, n_}), cn(dtype_, {batch_, n_});
    std::vector<HostArray> blank = {y, hn};
    Arrays results = {&y, &hn};
    if (kind_.has_cell) { blank.push_back(cn), results.push_back(&cn); }
    if (kind_.saved > 0) { blank.push_back(saved), results.push_back(&saved); }
    ASSERT_EQ(Compare("", inputs, blank), "");
    CHECK_JUST(Call((std::string(kind_.op) + ".cpu.reference").c_str(), inputs, results, &attrs_));
    Backward(rng, h0, c0, w_hh, y, saved);
  }

 private:
  HostArray State(Rng* rng) const { return Random(rng, dtype_, {batch_, n_}); }
  const HostArray* Sizes() const { return packed_ ? &sizes_ : nullptr; }

  void Backward(Rng* rng, const HostArray& h0, const HostArray& c0, const HostArray& w_hh,
                const HostArray& y, const HostArray& saved) {
    const HostArray dy = Random(rng, dtype_, {rows_, n_}), dhn = State(rng), dcn = State(rng);
    const bool only_last = OneIn(rng, 3);
    Arrays inputs = {only_last ? nullptr : &dy, only_last || OneIn(rng, 2) ? &dhn : nullptr};
    if (kind_.has_cell) { inputs.push_back(OneIn(rng, 2) ? &dcn : nullptr); }
    inputs.push_back(Sizes());
    inputs.push_back(&h0);
    if (kind_.has_cell) { inputs.push_back(&c0); }
    inputs.push_back(&w_hh);
    inputs.push_back(&y);
    if (kind_.saved > 0) { inputs.push_back(&saved); }
    const int64_t width = kind_.gates * n_;
    std::vector<HostArray> blank = {HostArray(dtype_, {rows_, width}),
                                    HostArray(dtype_, h0.shape())};
    if (kind_.has_cell) { blank.push_back(HostArray(dtype_, h0.shape())); }
    blank.push_back(HostArray(dtype_, {width, n_}));
    if (kind_.has_db) { blank.push_back(HostArray(dtype_, {width})); }
    ASSERT_EQ(Compare("_backward", inputs, blank), "");
  }

  std::string Compare(const std::string& suffix, const Arrays& in,
                      const std::vector<HostArray>& blank) const {
    ReferenceCase c{kind_.op + suffix, in, blank, &attrs_, 300 * ToleranceFor(dtype_)};
    c.same_bits = false;  // products are the library's
    return AgainstReference(c);
  }

  const Kind& kind_;
  const DataType dtype_;
  const int64_t batch_, n_;
  int64_t rows_ = 0;
  Dims steps_;
  HostArray sizes_;
  SequenceAttrs attrs_;
  bool packed_ = false;
};

TEST(Rnn, AgreesWithReference) {
  Rng rng(1);
  for (int trial = 0; trial < 80; ++trial) {
    for (const Kind& kind : kKinds) {
      Case(&rng, kind).Run(&rng);
      if (HasFatalFailure()) { return; }
    }
  }
}

// Too large for every thread to read them again: all threads work on one step.
TEST(Rnn, LargeWeights) {
  Rng rng(3);
  for (const Kind& kind : kKinds) {
    Case(&rng, kind, 700).Run(&rng);
    if (HasFatalFailure()) { return; }
  }
}

TEST(Rnn, TheComparisonSeesOneOtherWeight) {
  Rng rng(2);
  const HostArray x = Random(&rng, DataType::kFloat, {6, 3});
  const HostArray h0 = Random(&rng, DataType::kFloat, {2, 4});
  const HostArray w_ih = Random(&rng, DataType::kFloat, {4, 3});
  const HostArray w_hh = Random(&rng, DataType::kFloat, {4, 4});
  HostArray changed(w_hh);
  changed.Set(5, w_hh.At(5) + 0.3);
  const Arrays in = {&x, nullptr, &h0, &w_ih, &w_hh, nullptr, nullptr};
  const Arrays other = {&x, nullptr, &h0, &w_ih, &changed, nullptr, nullptr};
  const SequenceAttrs attrs;
  ReferenceCase c{"rnn_layer",
                  in,
                  {HostArray(DataType::kFloat, {6, 4}), HostArray(DataType::kFloat, {2, 4})},
                  &attrs,
                  300 * ToleranceFor(DataType::kFloat)};
  c.same_bits = false;
  EXPECT_EQ(AgainstReference(c), "");
  EXPECT_NE(AgainstReference(c, &other), "");
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
