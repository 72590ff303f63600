// What the centre and the spokes have in common: names, words, and the end after a failure.
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

std::vector<std::string> Bootstrap::take_part(const std::string& own, const std::string& failure) {
  if (!broken_.empty()) throw Error(Fault::fatal, broken_);
  ++sequence_;
  failures_.assign(failures_.size(), {});
  failure_of(rank()) = {failure, now() + clock_offset()};
  if (!failure.empty()) own_.on_failure(failure);
  try {
    return carry_out(own);
  } catch (const Error& error) {
    broken_ = error.what();
    throw;
  }
}

std::string Bootstrap::late(const std::vector<int>& ranks) const {
  std::ostringstream out;
  for (std::size_t i = 0; i < ranks.size(); ++i) out << (i > 0 ? ", " : "") << name_of(ranks[i]);
  out << (ranks.size() > 1 ? " have" : " has") << " not come within " << own_.limit << " s";
  return out.str();
}

std::string Bootstrap::out_of_step(int rank, const Frame& frame) const {
  return name_of(rank) + " is out of step: its message belongs to exchange " +
         std::to_string(frame.sequence) + ", " + name_of(own_.handshake.rank) + " is at exchange " +
         std::to_string(sequence_);
}

std::vector<std::string> Bootstrap::failed() const {
  std::multimap<Seconds, std::string> told;
  for (std::size_t rank = 0; rank < failures_.size(); ++rank) {
    const auto& [words, moment] = failures_[rank];
    if (!words.empty()) told.emplace(moment, name_of(static_cast<int>(rank)) + " failed: " + words);
  }
  std::vector<std::string> all;
  for (const auto& [moment, words] : told) all.push_back(words);
  return all;
}

std::string Bootstrap::behind_failures(const std::string& reason) const {
  std::string told;
  for (const std::string& words : failed()) told += words + "; ";
  return told + reason;
}

std::string Bootstrap::before_failures(const std::string& reason) const {
  std::string told = reason;
  for (const std::string& words : failed()) told += "; " + words;
  return told;
}

std::string Bootstrap::why(Outcome outcome, int rank) const {
  if (outcome == Outcome::late) return late({rank});
  if (outcome == Outcome::closed) return name_of(rank) + " is gone";
  return name_of(rank) + " sends what is no message of this version of linkscope";
}

}  // namespace linkscope
