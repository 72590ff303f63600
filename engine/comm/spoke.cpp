// Gives its word to the centre and gets everybody's.
#include "comm/spoke.hpp"

#include <optional>
#include <utility>

#include "base/error.hpp"
#include "comm/words.hpp"

namespace linkscope {
namespace {

/// The centre is the first to know who is late, and says so: that shall arrive before patience ends here.
constexpr Seconds for_the_reason = 1;

}  // namespace

std::unique_ptr<Hub> attend(const Address& centre, Membership own) {
  return std::make_unique<Spoke>(centre, std::move(own));
}

Spoke::Spoke(const Address& address, Membership membership)
    : Hub(std::move(membership)), centre_(Socket::connect(address, deadline_in(own().limit))) {
  const Frame greeting{FrameKind::greeting, 0, 0, own().greeting.text()};
  demand(centre_.send(greeting, limit()));
  be_welcomed(address);
  set_clock();
}

Deadline Spoke::limit() const { return deadline_in(own().limit + for_the_reason); }

void Spoke::be_welcomed(const Address& address) {
  Frame frame;
  demand(centre_.receive(frame, limit()));
  if (frame.kind == FrameKind::refusal) throw Error(Fault::bad_input, frame.payload);
  const auto facts = unpack(frame.payload, 2);
  const auto known = facts ? unpack(facts->back(), static_cast<std::size_t>(size())) : std::nullopt;
  if (frame.kind != FrameKind::welcome || !known)
    throw Error(Fault::fatal,
                "what listens at " + address.text() + " is no rank 0 of this version of linkscope");
  centre_clock_ = facts->front();
  set_hosts(*known);
}

void Spoke::set_clock() {
  const std::string& here = own().greeting.clock;
  const Sharing sharing = !here.empty() && here == centre_clock_ ? Sharing::possible : Sharing::excluded;
  demand(ask_clock(centre_, own().clock, sharing, limit(), offset_));
}

std::vector<Hub::Connection> Spoke::connections() const { return {{0, centre_.descriptor()}}; }

std::string Spoke::part_from(int rank) {
  const std::string reason = centre_.unread_farewell();
  return reason.empty() ? why(Outcome::closed, rank) : reason;
}

/// What the centre said before it went is worth more than that it is gone.
void Spoke::demand(Outcome outcome) {
  if (outcome == Outcome::done) return;
  Frame last;
  while (centre_.take(last) == Outcome::done) {
  }
  throw Error(Fault::fatal,
              centre_.farewell().empty() ? with_failures(why(outcome, 0), outcome) : centre_.farewell());
}

std::vector<std::string> Spoke::carry_out(const std::string& word) {
  if (clock_due_) set_clock();
  const Deadline deadline = limit();
  const std::string& failure = failure_of(rank()).words;
  Frame frame{FrameKind::word, sequence(), now() + offset_.seconds, word};
  if (!failure.empty()) {
    frame.kind = FrameKind::word_of_failure;
    frame.payload = pack({word, failure});
  }
  demand(centre_.send(frame, deadline));
  demand(centre_.receive(frame, deadline));
  clock_due_ = frame.kind == FrameKind::words_then_clocks;
  if ((frame.kind != FrameKind::words && !clock_due_) || frame.sequence != sequence())
    throw Error(Fault::fatal, out_of_step(0, frame));
  const auto words = unpack(frame.payload, static_cast<std::size_t>(size()));
  if (!words) throw Error(Fault::fatal, why(Outcome::garbled, 0));
  return *words;
}

}  // namespace linkscope
