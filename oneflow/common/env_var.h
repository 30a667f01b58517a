// Environment variables of the runtime, read with their default and checked.
//
// A value that cannot be read (ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS=soon) is reported once on stderr
// and the default is used: a typing error in a shell must not stop a program.
#ifndef ONEFLOW_COMMON_ENV_VAR_H_
#define ONEFLOW_COMMON_ENV_VAR_H_

#include <cstdint>
#include <string>

namespace oneflow {

bool EnvBool(const char* name, bool default_value);
int64_t EnvInt64(const char* name, int64_t default_value);
double EnvDouble(const char* name, double default_value);
std::string EnvString(const char* name, const std::string& default_value);

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_ENV_VAR_H_
