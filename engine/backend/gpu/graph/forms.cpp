// Work for a stream, replayed from a graph or timed until its calls return.
#include "backend/gpu/graph/forms.hpp"

#include <string>
#include <utility>
#include <vector>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/graph/graphs.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

/// `Base`: GpuTransfer or CallTransfer, as the form is started.
template <class Base>
class FormOf : public Base {
 public:
  template <class... Arguments>
  explicit FormOf(std::unique_ptr<Transfer> inner, GpuTransfer& work, Arguments... arguments)
      : Base(std::move(arguments)...), inner_(std::move(inner)), work_(work) {}

  void arm(std::uint64_t seed) override {
    Base::arm(seed);
    work_.arm(seed);
  }
  void restore() override {
    Base::restore();
    work_.restore();
  }
  [[nodiscard]] std::optional<Mismatch> fault() const override { return work_.fault(); }
  [[nodiscard]] Bytes verified_bytes() const override { return work_.verified_bytes(); }
  void flush() override { work_.flush(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return work_.notes(); }

 protected:
  [[nodiscard]] GpuTransfer& work() { return work_; }
  [[nodiscard]] const GpuTransfer& work() const { return work_; }

 private:
  std::unique_ptr<Transfer> inner_;
  GpuTransfer& work_;  ///< what inner_ holds
};

class GraphTransfer final : public FormOf<GpuTransfer> {
 public:
  GraphTransfer(std::shared_ptr<GpuContext> context, std::unique_ptr<Transfer> inner, GpuTransfer& work,
                std::uint64_t recorded)
      : FormOf(std::move(inner), work), context_(std::move(context)), recorded_(recorded) {
    own_facts() = facts_of_graph(work.facts(), recorded_);
    try {
      record();
    } catch (const Error& error) {
      if (error.fault() == Fault::fatal) throw;
      throw Error(Fault::unsupported, std::string("cannot be captured into a graph: ") + error.what());
    }
  }

  [[nodiscard]] int device() const override { return work().device(); }
  [[nodiscard]] Enqueue enqueueing() const override { return work().enqueueing(); }
  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) graph_.launch(stream);
    count_as_run(transfers() + repeats);
  }
  void count_as_run(std::uint64_t launches) override {
    set_transfers(launches);
    work().count_as_run(launches * recorded_);
  }
  void lead_in(gpuStream_t stream) override { work().lead_in(stream); }

  void arm(std::uint64_t seed) override {
    FormOf::arm(seed);
    record();
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    return work().verify(seed);
  }
  void use(const Setting& setting) override {
    work().use(setting);
    record();
  }

 private:
  /// What the work depends on (pattern, launch shape) is fixed in a graph: each change takes a new one.
  void record() {
    graph_ = {};
    context_->use(device());
    const gpuStream_t stream = context_->service_stream(device());
    Recording recording(stream);
    // One by one: a transfer may make one launch of what it is asked for at once.
    for (std::uint64_t i = 0; i < recorded_; ++i) work().enqueue(stream, 1);
    recording.end();
    graph_ = recording.made_ready();
    count_as_run(transfers());
  }

  std::shared_ptr<GpuContext> context_;
  std::uint64_t recorded_;
  ExecutableGraph graph_;
};

class ReturningCall final : public FormOf<CallTransfer> {
 public:
  ReturningCall(std::shared_ptr<GpuContext> context, std::unique_ptr<Transfer> inner, GpuTransfer& work)
      : FormOf(std::move(inner), work, std::move(context), work.device()) {
    own_facts() = facts_until_return(work.facts());
  }

  [[nodiscard]] std::vector<std::string> notes() const override {
    std::vector<std::string> found = FormOf::notes();
    found.emplace_back(
        "the time until the call returns, by the host clock: what it sets going may take longer");
    return found;
  }

 private:
  gpuError_t call(std::uint64_t repeats) noexcept override {
    try {
      // One by one, as above.
      for (std::uint64_t i = 0; i < repeats; ++i) work().enqueue(stream(), 1);
      return gpuSuccess;
    } catch (...) {
      const gpuError_t last = gpuGetLastError();
      return last == gpuSuccess ? gpuErrorUnknown : last;
    }
  }
  [[nodiscard]] std::optional<Mismatch> find_wrong(std::uint64_t seed) const override {
    return work().verify(seed);
  }
};

/// `inner` as work for a stream that does not keep its caller. Throws Error{unsupported} with `form` and the reason.
GpuTransfer& asynchronous(Transfer& inner, const std::string& form) {
  auto* const work = dynamic_cast<GpuTransfer*>(&inner);
  if (work == nullptr) throw Error(Fault::unsupported, form + ": the work is not on a stream");
  if (work->returns_early()) return *work;
  throw Error(Fault::unsupported,
              form +
                  ": the call keeps the calling thread until the work is done, or nearly so "
                  "(pageable, managed or staged copies do, and synchronous calls)");
}

}  // namespace

std::unique_ptr<Transfer> replay_by_graph(std::shared_ptr<GpuContext> context,
                                          std::unique_ptr<Transfer> inner, std::uint64_t recorded) {
  GpuTransfer& work = asynchronous(*inner, "cannot be captured into a graph");
  return std::make_unique<GraphTransfer>(std::move(context), std::move(inner), work, recorded);
}

std::unique_ptr<Transfer> time_until_return(std::shared_ptr<GpuContext> context,
                                            std::unique_ptr<Transfer> inner) {
  GpuTransfer& work = asynchronous(*inner, "until return");
  return std::make_unique<ReturningCall>(std::move(context), std::move(inner), work);
}

}  // namespace linkscope::gpu
