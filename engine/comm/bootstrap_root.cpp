// Collects everybody's word and hands all of them out.
#include "comm/bootstrap_root.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "comm/payloads.hpp"
#include "comm/rendezvous.hpp"

namespace linkscope {
namespace {

/// Quartz drifts apart by tens of microseconds a second: as much as a round trip tells.
constexpr Seconds clocks_last = 1;

}  // namespace

std::unique_ptr<Bootstrap> bootstrap_root(Listener& listener, BootstrapOptions own) {
  return std::make_unique<BootstrapRoot>(listener, std::move(own));
}

BootstrapRoot::BootstrapRoot(Listener& listener, BootstrapOptions options) : Bootstrap(std::move(options)) {
  Rendezvous rendezvous(listener, own().handshake);
  rendezvous.wait(deadline_in(own().limit));
  set_hosts(rendezvous.hosts());
  const std::vector<int> missing = rendezvous.missing();
  leaves_ = rendezvous.take_channels();
  for (const Connection& connection : connections()) descriptors_.push_back(connection.descriptor);
  if (!rendezvous.disagreements().empty()) {
    tell_all(FrameKind::refusal, rendezvous.disagreements());
    throw GroupError(Fault::bad_input, rendezvous.disagreements());
  }
  if (rendezvous.lost()) fail(why(Outcome::closed, *rendezvous.lost()));
  if (!missing.empty()) fail(late(missing));
  for (int rank = 1; rank < size(); ++rank) {
    demand(rank, send(rank, {FrameKind::welcome, 0, 0, pack({own().handshake.clock, pack(hosts())})}));
  }
  set_clocks();
}

std::vector<Bootstrap::Connection> BootstrapRoot::connections() const {
  std::vector<Connection> all;
  for (const Channel& channel : leaves_) {
    all.push_back({static_cast<int>(all.size()) + 1, channel.descriptor()});
  }
  return all;
}

std::string BootstrapRoot::part_from(int rank) {
  const Cause cause = why(Outcome::closed, rank);
  tell_all(FrameKind::abort, {cause});
  return cause.words;
}

Outcome BootstrapRoot::send(int rank, const Frame& frame) {
  const std::scoped_lock lock(writing_);
  return leaf(rank).send(frame, deadline_in(own().limit));
}

/// Only where that can be done at once: one that is stuck must not hold this process up.
void BootstrapRoot::tell_all(FrameKind kind, const Causes& causes) {
  const std::unique_lock lock(writing_, std::try_to_lock);
  if (!lock) return;
  for (Channel& channel : leaves_) {
    static_cast<void>(channel.send({kind, sequence(), 0, pack_causes(causes)}, deadline_in(0)));
  }
}

void BootstrapRoot::fail(Cause cause) {
  const Causes causes = with_failures(std::move(cause));
  tell_all(FrameKind::abort, causes);
  throw GroupError(Fault::fatal, causes);
}

void BootstrapRoot::demand(int rank, Outcome outcome) {
  if (outcome != Outcome::done) fail(why(outcome, rank));
}

std::vector<std::string> BootstrapRoot::do_allgather(const std::string& word) {
  if (clocks_due_) set_clocks();
  std::vector<std::string> words = collect(word);
  clocks_due_ = uncertainty_ > 0 && now() - clocks_set_ > clocks_last;
  const FrameKind kind = clocks_due_ ? FrameKind::words_then_clocks : FrameKind::words;
  const Frame frame{kind, sequence(), 0, pack(words)};
  for (int rank = 1; rank < size(); ++rank) demand(rank, send(rank, frame));
  return words;
}

/// Also looks at those that have said their word already: if they go, nothing is to be waited for.
std::vector<std::string> BootstrapRoot::collect(const std::string& word) {
  std::vector<std::string> words(static_cast<std::size_t>(size()));
  words.front() = word;
  std::vector<int> missing(leaves_.size());
  std::iota(missing.begin(), missing.end(), 1);
  Seconds first = now();
  PollWindow window;
  while (!missing.empty()) {
    const std::size_t before = missing.size();
    for (int rank = 1; rank < size(); ++rank) {
      Frame frame;
      const Outcome outcome = leaf(rank).take(frame);
      if (outcome == Outcome::late) continue;
      demand(rank, outcome);
      const auto place = std::find(missing.begin(), missing.end(), rank);
      if (place == missing.end()) fail(out_of_step(rank, frame));
      missing.erase(place);
      first = std::min(first, frame.moment);
      words[static_cast<std::size_t>(rank)] = word_in(std::move(frame), rank);
    }
    if (missing.size() < before) continue;
    const Deadline deadline = deadline_in(first + own().limit - now());
    if (has_passed(deadline)) fail(late(missing));
    if (!window.look_again()) wait_for_any(descriptors_, deadline);
  }
  return words;
}

std::string BootstrapRoot::word_in(Frame frame, int rank) {
  const bool failed = frame.kind == FrameKind::word_of_failure;
  if ((frame.kind != FrameKind::word && !failed) || frame.sequence != sequence())
    fail(out_of_step(rank, frame));
  if (!failed) return std::move(frame.payload);
  const auto said = unpack(frame.payload, 2);
  if (!said) fail(why(Outcome::garbled, rank));
  failure_of(rank) = {said->back(), frame.moment};
  return said->front();
}

void BootstrapRoot::set_clocks() {
  uncertainty_ = 0;
  const Deadline deadline = deadline_in(own().limit);
  for (int rank = 1; rank < size(); ++rank) {
    Seconds uncertainty = 0;
    demand(rank, answer_clock(leaf(rank), own().clock, deadline, uncertainty));
    uncertainty_ = std::max(uncertainty_, uncertainty);
  }
  clocks_set_ = now();
}

}  // namespace linkscope
