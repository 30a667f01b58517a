#include "oneflow/common/env_var.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "oneflow/common/log.h"

namespace oneflow {

namespace {

const char* NonEmpty(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? nullptr : text;
}

void Complain(const char* name, const char* text, const char* wanted) {
  LogWarning("environment variable {}={} is ignored: expected {}", name, text, wanted);
}

}  // namespace

bool EnvBool(const char* name, bool default_value) {
  const char* text = NonEmpty(name);
  if (text == nullptr) { return default_value; }
  for (const char* yes : {"1", "true", "True", "TRUE", "on", "ON", "yes"}) {
    if (std::strcmp(text, yes) == 0) { return true; }
  }
  for (const char* no : {"0", "false", "False", "FALSE", "off", "OFF", "no"}) {
    if (std::strcmp(text, no) == 0) { return false; }
  }
  Complain(name, text, "0 or 1");
  return default_value;
}

int64_t EnvInt64(const char* name, int64_t default_value) {
  const char* text = NonEmpty(name);
  if (text == nullptr) { return default_value; }
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text, &end, 10);
  if (errno == 0 && end != text && *end == '\0') { return value; }
  Complain(name, text, "a whole number");
  return default_value;
}

double EnvDouble(const char* name, double default_value) {
  const char* text = NonEmpty(name);
  if (text == nullptr) { return default_value; }
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end != text && *end == '\0' && !std::isnan(value)) { return value; }
  Complain(name, text, "a number");
  return default_value;
}

std::string EnvString(const char* name, const std::string& default_value) {
  const char* text = NonEmpty(name);
  return text == nullptr ? default_value : std::string(text);
}

}  // namespace oneflow
