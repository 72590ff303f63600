// MpiMethod: what the methods by MPI have in common.
#pragma once

#include <memory>
#include <utility>

#include "backend/mpi/context.hpp"
#include "model/method.hpp"

namespace linkscope::mpi {

/// Their parts are in processes; one CPU thread beside each part's memory calls MPI.
class MpiMethod : public MultiPartMethod {
 public:
  MpiMethod(std::shared_ptr<MpiContext> context, const MethodSpec& spec)
      : MultiPartMethod(spec), context_(std::move(context)) {}
  [[nodiscard]] Support available() const final { return context_->library().available(); }

 protected:
  [[nodiscard]] MpiContext& context() const { return *context_; }

 private:
  std::shared_ptr<MpiContext> context_;
};

}  // namespace linkscope::mpi
