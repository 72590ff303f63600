#include "workload/mpi_schedule.hpp"

#include <set>
#include <string>

#include "backend/mpi/rank_check.hpp"
#include "base/error.hpp"
#include "workload/mpi_transport.hpp"

namespace linkscope::workload {
namespace {

constexpr const char* staging_parameter = "staging";

enum class StagedCopies { none, full };

/// Throws Error{bad_input} for a word that means nothing.
StagedCopies staging_of(const Flow& flow) {
  const std::string word = flow.parameters.word(staging_parameter, "none");
  if (word != "none" && word != "full") throw Error(Fault::bad_input, "parameter staging: none or full");
  return word == "full" ? StagedCopies::full : StagedCopies::none;
}

std::vector<int> processes_of(const Flow& flow) {
  std::vector<int> ranks;
  for (const Endpoint& member : flow.members) ranks.push_back(member.rank);
  return ranks;
}

/// This process's rank, if it has one.
class MpiScheduleParts final : public ScheduleParts {
 public:
  MpiScheduleParts(mpi::MpiRuntime& runtime, const Flow& flow)
      : ScheduleParts(flow.schedule), runtime_(&runtime), processes_(processes_of(flow)) {}

  void carry(MpiTransport& transport) { transport_ = &transport; }
  [[nodiscard]] std::string export_handles() override {
    return mpi::RankEntry{runtime_->rank(), runtime_->size(), 0}.told();
  }
  void import_handles(const std::vector<std::string>& exports) override {
    std::vector<mpi::RankEntry> all;
    for (const std::string& exported : exports) all.push_back(mpi::RankEntry::understood(exported));
    mpi::require_one_world(all);
    held_ = runtime_->hold(processes_);
    const mpi::Tags tags = runtime_->tags();
    const mpi::MpiHandle communicator = runtime_->communicator(processes_);
    if (transport_ != nullptr) transport_->connect(communicator, tags.message);
  }

 private:
  mpi::MpiRuntime* runtime_;
  std::vector<int> processes_;
  MpiTransport* transport_ = nullptr;
  std::shared_ptr<void> held_;
};

std::vector<std::string> notes_of(mpi::MpiRuntime& runtime) {
  std::vector<std::string> notes{"by " + runtime.version()};
  if (std::string threads = runtime.threads(); !threads.empty()) notes.push_back(std::move(threads));
  return notes;
}

/// Libraries ask the GPUs' runtime which device is current.
std::function<void()> use_of(GpuRuntime* gpus, const DeviceId& device) {
  if (gpus == nullptr) return {};
  return [gpus, device] {
    if (const int code = gpus->use(device); code != 0) throw gpus->failure(code);
  };
}

}  // namespace

std::map<std::string, std::string> MpiSchedule::parameters() const {
  return {{staging_parameter,
           "none (default): MPI is given the messages' memory; full: the whole buffer is copied to host "
           "memory before "
           "each message, and back after it, as CloverLeaf does"}};
}

Support MpiSchedule::supports(const Flow& flow) const {
  if (const Support usual = ScheduleMethod::supports(flow); !usual) return usual;
  const std::vector<int> ranks = processes_of(flow);
  if (std::set<int>(ranks.begin(), ranks.end()).size() < ranks.size())
    return Support::no("mpi-schedule has one rank in each process");
  if (staging_of(flow) == StagedCopies::none) return Support::yes();
  if (flow.schedule->particles) return Support::no("staging of particles is not what the application does");
  for (const Endpoint& member : flow.members) {
    if (!mpi::on_gpu(member))
      return Support::no("staging is of a GPU's memory: MPI takes host memory as it is");
  }
  return Support::yes();
}

std::unique_ptr<PreparedParts> MpiSchedule::assemble(const Flow& flow,
                                                     const std::vector<LocalPart>& own) const {
  if (own.empty()) return std::make_unique<MpiScheduleParts>(context_->library().session(), flow);
  const LocalPart& part = own.front();
  const Endpoint& where = flow.members[part.index];
  const DeviceId device = worker_of(flow, part.index).device;
  mpi::MpiRuntime& runtime = context_->session(device);
  StagedSlots staged;
  if (staging_of(flow) == StagedCopies::full) {
    staged = {context_->gpus(), where};
  } else {
    context_->require_taken(where);
  }
  auto transport = std::make_unique<MpiTransport>(runtime, *flow.schedule, static_cast<int>(part.index),
                                                  part.arenas.destination->data(), staged);
  auto parts = std::make_unique<MpiScheduleParts>(runtime, flow);
  parts->carry(*transport);
  parts->add(std::make_unique<ScheduleTransfer>(
      context_of(flow, part), packer_of(flow, part.index), std::move(transport),
      RankThread{context_->caller(device).node, runtime.worker(), runtime.turn(), notes_of(runtime),
                 use_of(context_->caller(device).gpus, device)}));
  return parts;
}

}  // namespace linkscope::workload
