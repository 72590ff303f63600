// Gives its word to the root and gets everybody's.
#include "comm/bootstrap_leaf.hpp"

#include <optional>
#include <utility>

#include "base/error.hpp"
#include "comm/payloads.hpp"

namespace linkscope {
namespace {

/// The root is the first to know who is late, and says so: that shall arrive before the time is up here.
constexpr Seconds for_the_reason = 1;

}  // namespace

std::unique_ptr<Bootstrap> bootstrap_leaf(const Address& root, BootstrapOptions own) {
  return std::make_unique<BootstrapLeaf>(root, std::move(own));
}

BootstrapLeaf::BootstrapLeaf(const Address& address, BootstrapOptions options)
    : Bootstrap(std::move(options)), root_(Socket::connect(address, deadline_in(own().limit))) {
  const Frame handshake{FrameKind::handshake, 0, 0, own().handshake.text()};
  demand(root_.send(handshake, limit()));
  await_welcome(address);
  set_clock();
}

Deadline BootstrapLeaf::limit() const { return deadline_in(own().limit + for_the_reason); }

void BootstrapLeaf::await_welcome(const Address& address) {
  Frame frame;
  demand(root_.receive(frame, limit()));
  if (frame.kind == FrameKind::refusal) {
    const auto disagreements = unpack_causes(frame.payload);
    throw GroupError(Fault::bad_input, disagreements.value_or(Causes{why(Outcome::garbled, 0)}));
  }
  const auto facts = unpack(frame.payload, 2);
  const auto known = facts ? unpack(facts->back(), static_cast<std::size_t>(size())) : std::nullopt;
  if (frame.kind != FrameKind::welcome || !known)
    throw Error(Fault::fatal,
                "what listens at " + address.text() + " is not rank 0 of this version of linkscope");
  root_clock_ = facts->front();
  set_hosts(*known);
}

void BootstrapLeaf::set_clock() {
  const std::string& here = own().handshake.clock;
  const Sharing sharing = !here.empty() && here == root_clock_ ? Sharing::possible : Sharing::excluded;
  demand(ask_clock(root_, own().clock, sharing, limit(), offset_));
}

std::vector<Bootstrap::Connection> BootstrapLeaf::connections() const { return {{0, root_.descriptor()}}; }

std::string BootstrapLeaf::part_from(int rank) {
  const auto told = unpack_causes(root_.unread_abort_reason());
  return told ? GroupError(Fault::fatal, *told).what() : why(Outcome::closed, rank).words;
}

/// What the root said before it went is worth more than that it is gone.
void BootstrapLeaf::demand(Outcome outcome) {
  if (outcome == Outcome::done) return;
  Frame last;
  while (root_.take(last) == Outcome::done) {
  }
  const auto told = unpack_causes(root_.abort_reason());
  throw GroupError(Fault::fatal, told ? *told : with_failures(why(outcome, 0)));
}

std::vector<std::string> BootstrapLeaf::do_allgather(const std::string& word) {
  if (clock_due_) set_clock();
  const Deadline deadline = limit();
  const std::string& failure = failure_of(rank()).words;
  Frame frame{FrameKind::word, sequence(), now() + offset_.seconds, word};
  if (!failure.empty()) {
    frame.kind = FrameKind::word_of_failure;
    frame.payload = pack({word, failure});
  }
  demand(root_.send(frame, deadline));
  demand(root_.receive(frame, deadline));
  clock_due_ = frame.kind == FrameKind::words_then_clocks;
  if ((frame.kind != FrameKind::words && !clock_due_) || frame.sequence != sequence())
    throw GroupError(Fault::fatal, Causes{out_of_step(0, frame)});
  const auto words = unpack(frame.payload, static_cast<std::size_t>(size()));
  if (!words) throw GroupError(Fault::fatal, Causes{why(Outcome::garbled, 0)});
  return *words;
}

}  // namespace linkscope
