// SharedLibrary: a library that is looked for and loaded while the engine runs.
#pragma once

#include <dlfcn.h>

#include <string>

#include "base/error.hpp"

namespace linkscope {

/// Loaded until the process ends: what is loaded so (MPI, NCCL) has threads and plug-ins of its own.
class SharedLibrary {
 public:
  /// `visibility`: RTLD_GLOBAL lets libraries that are loaded later find its symbols, RTLD_LOCAL does not.
  SharedLibrary(const std::string& file, int visibility)
      : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_NODELETE | visibility)) {}

  [[nodiscard]] bool loaded() const { return handle_ != nullptr; }
  /// Why the last call here failed, in the loader's words, one line.
  [[nodiscard]] static std::string problem() {
    const char* text = dlerror();
    return one_line(text == nullptr ? "the loader gives no reason" : text);
  }
  /// The function or value of that name, also of a library that it needs; null where there is none.
  template <class Symbol>
  [[nodiscard]] Symbol* find(const char* name) const {
    return reinterpret_cast<Symbol*>(dlsym(handle_, name));
  }
  /// The same into `symbol`; whether there is one.
  template <class Symbol>
  bool find(const char* name, Symbol*& symbol) const {
    symbol = find<Symbol>(name);
    return symbol != nullptr;
  }

 private:
  void* handle_;
};

}  // namespace linkscope
