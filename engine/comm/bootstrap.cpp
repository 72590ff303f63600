// What root and leaves have in common: names, words, and the end after a failure.
#include "comm/bootstrap.hpp"

#include <map>
#include <sstream>
#include <utility>

#include "base/error.hpp"

namespace linkscope {

Bootstrap::Bootstrap(BootstrapOptions own)
    : own_(std::move(own)), hosts_(static_cast<std::size_t>(own_.handshake.size)), failures_(hosts_.size()) {
  hosts_[static_cast<std::size_t>(own_.handshake.rank)] = own_.handshake.host;
}

std::string Bootstrap::name_of(int rank) const {
  return name_of_rank(rank, hosts_.at(static_cast<std::size_t>(rank)));
}

std::vector<std::string> Bootstrap::exchange(const std::string& own, const std::string& failure) {
  if (broken_) throw *broken_;
  ++sequence_;
  failures_.assign(failures_.size(), {});
  failure_of(rank()) = {failure, now() + clock_offset()};
  if (!failure.empty()) own_.on_failure(failure);
  try {
    return do_allgather(own);
  } catch (const Error& error) {
    broken_.emplace(Fault::fatal, error);
    throw;
  }
}

Cause Bootstrap::late(const std::vector<int>& ranks) const {
  std::ostringstream out;
  for (std::size_t i = 0; i < ranks.size(); ++i) out << (i > 0 ? ", " : "") << name_of(ranks[i]);
  out << (ranks.size() > 1 ? " have" : " has") << " not come within " << own_.limit << " s";
  return {CauseKind::late, ranks, out.str()};
}

Cause Bootstrap::out_of_step(int rank, const Frame& frame) const {
  return {CauseKind::out_of_step,
          {rank},
          name_of(rank) + " is out of step: its message belongs to exchange " +
              std::to_string(frame.sequence) + ", " + name_of(own_.handshake.rank) + " is at exchange " +
              std::to_string(sequence_)};
}

Causes Bootstrap::with_failures(Cause cause) const {
  std::multimap<Seconds, Cause> failed;
  for (std::size_t i = 0; i < failures_.size(); ++i) {
    const auto& [words, moment] = failures_[i];
    const int rank = static_cast<int>(i);
    if (!words.empty())
      failed.emplace(moment, Cause{CauseKind::failed, {rank}, name_of(rank) + " failed: " + words});
  }
  Causes all;
  for (auto& [moment, failure] : failed) all.push_back(std::move(failure));
  all.insert(cause.kind == CauseKind::gone ? all.begin() : all.end(), std::move(cause));
  return all;
}

Cause Bootstrap::why(Outcome outcome, int rank) const {
  if (outcome == Outcome::late) return late({rank});
  if (outcome == Outcome::closed) return {CauseKind::gone, {rank}, name_of(rank) + " is gone"};
  return {CauseKind::out_of_step,
          {rank},
          name_of(rank) + " sends what is not a message of this version of linkscope"};
}

}  // namespace linkscope
