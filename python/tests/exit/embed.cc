// A program that embeds the interpreter: python executable, script, case.
//
// Loaded into the interpreter's executable (LD_PRELOAD), in the place of whose `main` its own runs:
// so it needs no libpython, which many interpreters come without, and it ends as any program does.
#include <Python.h>
#include <dlfcn.h>

#include <cstdio>
#include <string>

namespace {

// As a host does that passes none of its own command line.
bool Initialize(const char* executable) {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.parse_argv = 0;
  const bool done =
      PyStatus_Exception(PyConfig_SetBytesString(&config, &config.program_name, executable)) == 0 &&
      PyStatus_Exception(Py_InitializeFromConfig(&config)) == 0;
  PyConfig_Clear(&config);
  return done;
}

bool RunScript(const std::string& path, const std::string& which, const std::string& name) {
  const std::string arguments =
      "import sys; sys.argv = ['" + path + "', '" + which + "', '" + name + "']";
  if (PyRun_SimpleString(arguments.c_str()) != 0) { return false; }
  FILE* file = std::fopen(path.c_str(), "r");
  return file != nullptr && PyRun_SimpleFileEx(file, path.c_str(), 1) == 0;
}

bool RunInSubinterpreter(const std::string& path) {
  PyThreadState* outer = PyThreadState_Get();
  PyThreadState* inner = Py_NewInterpreter();
  if (inner == nullptr) { return false; }
  const bool done = RunScript(path, "subinterpreter", "subinterpreter");
  Py_EndInterpreter(inner);
  PyThreadState_Swap(outer);
  return done;
}

bool RunRound(const std::string& script, const std::string& which, int round) {
  if (which != "subinterpreter") {
    return RunScript(script, which, "round " + std::to_string(round));
  }
  return RunScript(script, which, "main") && RunInSubinterpreter(script) &&
         RunScript(script, which, "main again");
}

bool Run(const char* executable, const std::string& script, const std::string& which) {
  const int rounds = which == "twice" ? 2 : 1;
  for (int round = 1; round <= rounds; ++round) {
    if (!Initialize(executable) || !RunRound(script, which, round) || Py_FinalizeEx() != 0) {
      return false;
    }
  }
  return true;
}

int HostMain(int count, char** arguments, char**) {
  if (count != 3) { return 64; }
  return Run(arguments[0], arguments[1], arguments[2]) ? 0 : 70;
}

using Main = int (*)(int, char**, char**);
using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);

}  // namespace

// What the beginning of every executable calls, with its own main.
extern "C" __attribute__((visibility("default"))) int __libc_start_main(
    Main, int count, char** arguments, void (*init)(), void (*fini)(), void (*loader_fini)(),
    void* stack_end) {
  const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(HostMain, count, arguments, init, fini, loader_fini, stack_end);
}
