// The first command to a Python child, and the last.
#include "backend/python/context.hpp"

#include <utility>

#include "base/error.hpp"

namespace linkscope::python {
namespace {

constexpr Seconds timeout_alone = 900;  // the supervisor's is shorter, and knows the case
constexpr Seconds timeout_beside_limit = 30;

}  // namespace

Child& PythonContext::child() {
  if (child_) return *child_;
  if (program_.empty())
    throw Error(Fault::unsupported, "this engine was told of no Python: LINKSCOPE_PYTHON_PROGRAM is not set");
  // Longer than the others wait for this process: they are the ones to say who is late.
  const Seconds timeout = place_.limit ? 2 * *place_.limit + timeout_beside_limit : timeout_alone;
  auto started = std::make_unique<Child>(program_, timeout);
  static_cast<void>(started->ask({{"do", "begin"},
                                  {"rank", place_.rank},
                                  {"size", place_.size},
                                  {"root_host", place_.root_host},
                                  {"limit_s", place_.limit.value_or(timeout_alone)},
                                  {"memory_limit_bytes", place_.memory_limit}}));
  child_ = std::move(started);
  return *child_;
}

const Message& PythonContext::installed() {
  if (installed_.is_null()) installed_ = child().ask({{"do", "describe"}});
  return installed_;
}

Support PythonContext::has(const std::string& what) {
  try {
    const Message& problem = installed().at("problems").at(what);
    return problem.is_null() ? Support::yes() : Support::no(problem.get<std::string>());
  } catch (const Error& error) {
    return Support::no(error.what());
  }
}

std::map<std::string, std::string> PythonContext::versions() {
  try {
    return installed().at("versions").get<std::map<std::string, std::string>>();
  } catch (const Error&) {
    return {};  // has() says why
  }
}

void PythonContext::finish() {
  if (!child_) return;
  static_cast<void>(child_->ask({{"do", "close"}}));
  child_->await_end();
  child_.reset();
}

}  // namespace linkscope::python
