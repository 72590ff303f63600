// Exchanges over a star of connections: rank 0's half, the others', and the end after a failure.
#include "comm/bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <sstream>
#include <utility>

#include "base/error.hpp"

namespace linkscope {
namespace {

/// Quartz drifts apart by tens of microseconds a second: as much as a round trip tells.
constexpr Seconds clocks_last = 1;
/// Rank 0 is the first to know who is late, and says so: that shall arrive before the time is up elsewhere.
constexpr Seconds for_the_reason = 1;
constexpr int clock_rounds = 64;

/// Asks the other end for its time over and over. Its answer was given some time within the round trip, so the shortest
/// one tells it best: it is in the middle, give or take half. Where the clocks may be one, and the answers do not
/// contradict that, offset and uncertainty are 0.
Outcome ask_clock(Channel& channel, const ReadClock& own, bool may_be_one, Deadline deadline,
                  ClockOffset& offset) {
  ClockOffset best{0, std::numeric_limits<Seconds>::infinity()};
  for (int round = 0; round < clock_rounds; ++round) {
    const Seconds asked = own();
    Outcome outcome = channel.send({FrameKind::clock_question, 0, 0, {}}, deadline);
    if (outcome != Outcome::done) return outcome;
    Frame answer;
    outcome = channel.receive(answer, deadline);
    const Seconds heard = own();
    if (outcome != Outcome::done) return outcome;
    if (answer.kind != FrameKind::clock_answer) return Outcome::garbled;
    const Seconds half = (heard - asked) / 2;
    if (half < best.uncertainty) best = {answer.moment - asked - half, half};
  }
  offset = may_be_one && std::abs(best.seconds) <= best.uncertainty ? ClockOffset{} : best;
  return channel.send({FrameKind::clock_set, 0, offset.uncertainty, {}}, deadline);
}

/// The other end of ask_clock(). `uncertainty`: what the one who asks has found.
Outcome answer_clock(Channel& channel, const ReadClock& own, Deadline deadline, Seconds& uncertainty) {
  for (;;) {
    Frame question;
    const Outcome outcome = channel.receive(question, deadline);
    if (outcome != Outcome::done) return outcome;
    if (question.kind == FrameKind::clock_set) {
      uncertainty = question.moment;
      return Outcome::done;
    }
    if (question.kind != FrameKind::clock_question) return Outcome::garbled;
    const Outcome answered = channel.send({FrameKind::clock_answer, 0, own(), {}}, deadline);
    if (answered != Outcome::done) return answered;
  }
}

}  // namespace

Bootstrap::Bootstrap(BootstrapOptions own)
    : own_(std::move(own)), hosts_(static_cast<std::size_t>(own_.handshake.size)), failures_(hosts_.size()) {
  hosts_[static_cast<std::size_t>(rank())] = own_.handshake.host;
}

Bootstrap::Bootstrap(Listener& listener, BootstrapOptions own) : Bootstrap(std::move(own)) {
  Arrivals arrivals = await_arrivals(listener, own_.handshake, deadline_in(own_.limit));
  hosts_ = std::move(arrivals.hosts);
  peers_ = std::move(arrivals.channels);
  if (!arrivals.disagreements.empty()) {
    tell_all(FrameKind::refusal, arrivals.disagreements);
    throw GroupError(Fault::bad_input, arrivals.disagreements);
  }
  if (arrivals.lost) fail(why(Outcome::closed, *arrivals.lost));
  if (!arrivals.missing.empty()) fail(late(arrivals.missing));
  std::vector<std::string> facts = hosts_;
  facts.push_back(own_.handshake.clock);
  for (int other = 1; other < size(); ++other)
    demand(other, send(other, {FrameKind::welcome, 0, 0, text_of(facts)}));
  set_clocks();
}

Bootstrap::Bootstrap(const Address& root, BootstrapOptions own) : Bootstrap(std::move(own)) {
  peers_.emplace_back(Socket::connect(root, deadline_in(own_.limit)));
  demand(0, send(0, {FrameKind::handshake, 0, 0, own_.handshake.text()}));
  await_welcome(root);
  set_clocks();
}

void Bootstrap::await_welcome(const Address& address) {
  Frame frame;
  demand(0, to(0).receive(frame, limit()));
  if (frame.kind == FrameKind::refusal) {
    const Causes disagreements = causes_in(frame.payload);
    throw GroupError(Fault::bad_input,
                     disagreements.empty() ? Causes{why(Outcome::garbled, 0)} : disagreements);
  }
  auto facts = parsed<std::vector<std::string>>(frame.payload);
  if (frame.kind != FrameKind::welcome || !facts || facts->size() != hosts_.size() + 1)
    throw Error(Fault::fatal,
                "what listens at " + address.text() + " is not rank 0 of this version of linkscope");
  const std::string& here = own_.handshake.clock;
  may_share_clock_ = !here.empty() && here == facts->back();
  facts->pop_back();
  hosts_ = *std::move(facts);
}

std::string Bootstrap::name_of(int rank) const {
  return name_of_rank(rank, hosts_.at(static_cast<std::size_t>(rank)));
}

std::vector<Bootstrap::Connection> Bootstrap::connections() const {
  std::vector<Connection> all;
  for (const Channel& channel : peers_)
    all.push_back({is_root() ? static_cast<int>(all.size()) + 1 : 0, channel.descriptor()});
  return all;
}

std::string Bootstrap::part_from(int rank) {
  const Cause gone = why(Outcome::closed, rank);
  if (is_root()) {
    tell_all(FrameKind::abort, {gone});
    return gone.words;
  }
  const Causes reason = causes_in(to(0).unread_abort_reason());
  return reason.empty() ? gone.words : GroupError(Fault::fatal, reason).what();
}

std::vector<std::string> Bootstrap::allgather(const std::string& own, const Step& step) {
  if (broken_) throw *broken_;
  ++sequence_;
  failures_.assign(failures_.size(), {});
  failures_[static_cast<std::size_t>(rank())] = {step.failure, now() + clock_offset()};
  if (!step.failure.empty()) own_.on_failure(step.failure);
  try {
    if (clocks_due_) set_clocks();
    return is_root() ? hand_out(own, step) : hear_all(own, step);
  } catch (const Error& error) {
    broken_.emplace(Fault::fatal, error);
    throw;
  }
}

std::vector<std::string> Bootstrap::hand_out(const std::string& word, const Step& step) {
  std::vector<std::string> words = collect(word, step);
  clocks_due_ = offset_.uncertainty > 0 && now() - clocks_set_ > clocks_last;
  const FrameKind kind = clocks_due_ ? FrameKind::words_then_clocks : FrameKind::words;
  const Frame frame{kind, sequence_, 0, packed(words)};
  for (int other = 1; other < size(); ++other) demand(other, send(other, frame));
  return words;
}

/// Also looks at those that have said their word already: if they go, nothing is to be waited for.
std::vector<std::string> Bootstrap::collect(const std::string& word, const Step& step) {
  std::vector<std::string> words(peers_.size() + 1);
  words.front() = word;
  std::vector<int> missing(peers_.size());
  std::iota(missing.begin(), missing.end(), 1);
  std::vector<int> descriptors;
  for (const Channel& channel : peers_) descriptors.push_back(channel.descriptor());
  Seconds first = now();
  PollWindow window;
  while (!missing.empty()) {
    const std::size_t before = missing.size();
    for (int other = 1; other < size(); ++other) {
      Frame frame;
      const Outcome outcome = to(other).take(frame);
      if (outcome == Outcome::late) continue;
      demand(other, outcome);
      const auto place = std::find(missing.begin(), missing.end(), other);
      if (place == missing.end()) fail(at_another(other, frame));
      missing.erase(place);
      first = std::min(first, frame.moment);
      words[static_cast<std::size_t>(other)] = word_in(frame, other, step);
    }
    if (missing.size() < before) continue;
    const Deadline deadline = deadline_in(first + own_.limit - now());
    if (has_passed(deadline)) fail(late(missing));
    if (!window.look_again()) wait_for_any(descriptors, deadline);
  }
  return words;
}

std::string Bootstrap::word_in(const Frame& frame, int rank, const Step& step) {
  if (frame.kind != FrameKind::word || frame.sequence != sequence_) fail(at_another(rank, frame));
  auto said = unpacked<std::vector<std::string>>(frame.payload);
  if (!said || said->size() != 3) fail(why(Outcome::garbled, rank));
  if (said->at(0) != step.name) fail(out_of_step(rank, "it is at " + said->at(0), "is at " + step.name));
  failures_[static_cast<std::size_t>(rank)] = {said->at(1), frame.moment};
  return std::move(said->at(2));
}

std::vector<std::string> Bootstrap::hear_all(const std::string& word, const Step& step) {
  const Deadline deadline = limit();
  Frame frame{FrameKind::word, sequence_, now() + offset_.seconds, packed({step.name, step.failure, word})};
  demand(0, send(0, frame));
  demand(0, to(0).receive(frame, deadline));
  clocks_due_ = frame.kind == FrameKind::words_then_clocks;
  if ((frame.kind != FrameKind::words && !clocks_due_) || frame.sequence != sequence_)
    throw GroupError(Fault::fatal, Causes{at_another(0, frame)});
  auto words = unpacked<std::vector<std::string>>(frame.payload);
  if (!words || words->size() != hosts_.size())
    throw GroupError(Fault::fatal, Causes{why(Outcome::garbled, 0)});
  return *std::move(words);
}

void Bootstrap::set_clocks() {
  if (!is_root()) return demand(0, ask_clock(to(0), own_.clock, may_share_clock_, limit(), offset_));
  offset_.uncertainty = 0;
  for (int other = 1; other < size(); ++other) {
    Seconds uncertainty = 0;
    demand(other, answer_clock(to(other), own_.clock, limit(), uncertainty));
    offset_.uncertainty = std::max(offset_.uncertainty, uncertainty);
  }
  clocks_set_ = now();
}

Deadline Bootstrap::limit() const { return deadline_in(own_.limit + (is_root() ? 0 : for_the_reason)); }

Outcome Bootstrap::send(int rank, const Frame& frame) {
  const std::scoped_lock lock(writing_);
  return to(rank).send(frame, limit());
}

/// Only where that can be done at once: one that is stuck must not hold this process up.
void Bootstrap::tell_all(FrameKind kind, const Causes& causes) {
  const std::unique_lock lock(writing_, std::try_to_lock);
  if (!lock) return;
  for (Channel& channel : peers_)
    static_cast<void>(channel.send({kind, sequence_, 0, text_of(causes)}, deadline_in(0)));
}

void Bootstrap::demand(int rank, Outcome outcome) {
  if (outcome == Outcome::done) return;
  if (is_root()) fail(why(outcome, rank));
  // Rank 0's last words are worth more than that it is gone.
  Frame last;
  while (to(0).take(last) == Outcome::done) {
  }
  const Causes reason = causes_in(to(0).abort_reason());
  throw GroupError(Fault::fatal, reason.empty() ? with_failures(why(outcome, 0)) : reason);
}

void Bootstrap::fail(Cause cause) {
  const Causes causes = with_failures(std::move(cause));
  tell_all(FrameKind::abort, causes);
  throw GroupError(Fault::fatal, causes);
}

Cause Bootstrap::why(Outcome outcome, int rank) const {
  if (outcome == Outcome::late) return late({rank});
  if (outcome == Outcome::closed) return {CauseKind::gone, {rank}, name_of(rank) + " is gone"};
  return {CauseKind::out_of_step,
          {rank},
          name_of(rank) + " sends what is not a message of this version of linkscope"};
}

Cause Bootstrap::late(const std::vector<int>& ranks) const {
  std::ostringstream out;
  for (std::size_t i = 0; i < ranks.size(); ++i) out << (i > 0 ? ", " : "") << name_of(ranks[i]);
  out << (ranks.size() > 1 ? " have" : " has") << " not come within " << own_.limit << " s";
  return {CauseKind::late, ranks, out.str()};
}

Cause Bootstrap::out_of_step(int rank, const std::string& theirs, const std::string& ours) const {
  return {CauseKind::out_of_step,
          {rank},
          name_of(rank) + " is out of step: " + theirs + ", " + name_of(own_.handshake.rank) + " " + ours};
}

Cause Bootstrap::at_another(int rank, const Frame& frame) const {
  return out_of_step(rank, "its message belongs to exchange " + std::to_string(frame.sequence),
                     "is at exchange " + std::to_string(sequence_));
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

}  // namespace linkscope
