// ScheduleTransfer: one rank of a schedule: carries it out, phase by phase, and knows where its time went.
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/host/host_transfer.hpp"
#include "workload/phase_work.hpp"

namespace linkscope::workload {

/// The thread that carries a rank out.
struct RankThread {
  int node = 0;  ///< it runs on a CPU of this one
  // NOLINTBEGIN(readability-redundant-member-init): lets initialisers leave them out
  host::Worker* worker = nullptr;    ///< null: any of the node
  std::shared_ptr<void> turn{};      ///< held as long as it may call a library that serves one thread
  std::vector<std::string> notes{};  ///< for the row
  std::function<void()> prepare{};   ///< called before each start; may throw
  // NOLINTEND(readability-redundant-member-init)
};

/// One transfer is the whole schedule. The first start since arm() first carries two repeats of each loop out untimed, with
/// other data in each, and checks after each phase that its messages have the data of their own repeat: one that is lost,
/// old or too early is found. All ranks meet before the timed transfers and after them. What counts of the span is
/// communication, waits for other ranks included: no gaps, and no work of the application's own.
class ScheduleTransfer final : public host::HostTransfer {
 public:
  ScheduleTransfer(RankContext context, RankThread thread);

  [[nodiscard]] host::Worker* own_worker() override { return thread_.worker; }
  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept override;
  [[nodiscard]] Span counted(const Span& span) override;
  void rethrow() override;
  void arm(std::uint64_t seed) override;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override;
  [[nodiscard]] Bytes verified_bytes() const override { return work_->checked_bytes(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return thread_.notes; }
  [[nodiscard]] std::optional<Breakdown> breakdown() const override;

 private:
  void check_each_phase();
  void carry_out();
  void reduce(const SmallCollective& what);
  [[nodiscard]] std::optional<std::string> wrong_reduction(const SmallCollective& what) const;
  void wait_out(Seconds gap);

  std::shared_ptr<const Schedule> schedule_;
  int rank_;
  Transport* transport_;
  std::unique_ptr<PhaseWork> work_;
  RankThread thread_;
  PartClock clock_;
  std::array<std::vector<std::byte>, number_types> own_numbers_;  ///< by type: what this rank reduces
  std::vector<std::byte> reduced_;
  bool checked_ = false;
  std::optional<std::string> wrong_;
  std::optional<Span> span_;
  std::exception_ptr failure_;
  std::uint64_t transfers_ = 0;  ///< timed since arm()
  std::vector<Seconds> parts_;   ///< of those
  std::vector<Seconds> phases_;
};

}  // namespace linkscope::workload
