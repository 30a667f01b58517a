#include "oneflow/functional/einsum_equation.h"

#include <algorithm>

namespace oneflow::functional {

namespace {

// One side of the arrow, as written: labels, and where the ellipsis stands (-1: nowhere).
struct Term {
  std::vector<int> labels;
  int ellipsis = -1;
};

int LabelOf(char c) {
  if (c >= 'A' && c <= 'Z') { return c - 'A'; }
  if (c >= 'a' && c <= 'z') { return 26 + c - 'a'; }
  return -1;
}

Maybe<Term> ParseTerm(const std::string& text, const std::string& equation) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "...") == 0 && term.ellipsis < 0) {
      term.ellipsis = static_cast<int>(term.labels.size());
      i += 2;
      continue;
    }
    const int label = LabelOf(text[i]);
    if (label < 0) {
      return RuntimeError("[einsum] expects letters and at most one ... in each term, got '{}'",
                          equation);
    }
    term.labels.push_back(label);
  }
  return term;
}

std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  return parts;
}

// The dims that the term's ellipsis stands for.
Maybe<int> EllipsisDims(const Term& term, const Dims& shape, size_t index,
                        const std::string& equation) {
  const int rest = shape.size() - static_cast<int>(term.labels.size());
  if (rest < 0 || (rest > 0 && term.ellipsis < 0)) {
    return RuntimeError("[einsum] expects operand {} to have the {} dims that '{}' names, got {}",
                        index, term.labels.size(), equation, shape);
  }
  return rest;
}

// The term's labels with `dims` labels of the ellipsis, which are the last of `most`.
std::vector<int> Expanded(const Term& term, int dims, int most) {
  std::vector<int> labels = term.labels;
  if (term.ellipsis < 0) { return labels; }
  std::vector<int> filled;
  for (int d = most - dims; d < most; ++d) { filled.push_back(kFirstEllipsisLabel + d); }
  labels.insert(labels.begin() + term.ellipsis, filled.begin(), filled.end());
  return labels;
}

std::vector<int> ImplicitResult(const std::vector<Term>& terms, int most) {
  int counts[kFirstEllipsisLabel] = {};
  for (const Term& term : terms) {
    for (const int label : term.labels) { ++counts[label]; }
  }
  std::vector<int> result;
  for (int d = 0; d < most; ++d) { result.push_back(kFirstEllipsisLabel + d); }
  for (int label = 0; label < kFirstEllipsisLabel; ++label) {
    if (counts[label] == 1) { result.push_back(label); }
  }
  return result;
}

Maybe<std::vector<int>> ExplicitResult(const std::string& text, const std::vector<Term>& terms,
                                       int most, const std::string& equation) {
  const Term term = JUST(ParseTerm(text, equation));
  for (size_t i = 0; i < term.labels.size(); ++i) {
    const int label = term.labels[i];
    const auto has = [&](const Term& t) {
      return std::count(t.labels.begin(), t.labels.end(), label) > 0;
    };
    if (std::none_of(terms.begin(), terms.end(), has)) {
      return RuntimeError("[einsum] expects labels of the result to be labels of an operand, got "
                          "'{}'",
                          equation);
    }
    if (std::count(term.labels.begin(), term.labels.end(), label) > 1) {
      return RuntimeError("[einsum] expects each label once in the result, got '{}'", equation);
    }
  }
  return Expanded(term, term.ellipsis < 0 ? 0 : most, most);
}

}  // namespace

Maybe<EinsumEquation> ParseEinsum(const std::string& equation, const std::vector<Dims>& shapes) {
  std::string text = equation;
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  const std::vector<std::string> parts = Split(text.substr(0, arrow), ',');
  if (parts.size() != shapes.size()) {
    return RuntimeError("[einsum] expects as many operands as '{}' names, {}, got {}", equation,
                        parts.size(), shapes.size());
  }
  std::vector<Term> terms;
  std::vector<int> dims;
  int most = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    terms.push_back(JUST(ParseTerm(parts[i], equation)));
    dims.push_back(JUST(EllipsisDims(terms.back(), shapes[i], i, equation)));
    most = std::max(most, dims.back());
  }
  EinsumEquation out;
  for (size_t i = 0; i < terms.size(); ++i) {
    out.operands.push_back(Expanded(terms[i], dims[i], most));
  }
  out.result = arrow == std::string::npos
                   ? ImplicitResult(terms, most)
                   : JUST(ExplicitResult(text.substr(arrow + 2), terms, most, equation));
  return out;
}

}  // namespace oneflow::functional
