// Accepts connections and reads greetings.
#include "comm/gathering.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace linkscope {
namespace {

constexpr std::size_t most_strangers = 256;
/// The others are on their way, and shall hear the reason too.
constexpr Seconds after_complaint = 2;
constexpr Seconds for_a_refusal = 0.1;

}  // namespace

Gathering::Gathering(Listener& listener, const Greeting& own)
    : listener_(&listener), own_(&own), guests_(static_cast<std::size_t>(own.size) - 1) {}

void Gathering::wait(Deadline deadline) {
  for (;;) {
    let_in();
    hear_strangers();
    look_after_guests();
    if (is_over(deadline)) return;
    wait_for_any(descriptors(), complaint_.empty() ? deadline : std::min(deadline, patience_));
  }
}

bool Gathering::is_over(Deadline deadline) const {
  if (missing().empty() || !lost_.empty() || has_passed(deadline)) return true;
  const bool all_have_come = missing().size() <= turned_away_;
  return !complaint_.empty() && (all_have_come || has_passed(patience_));
}

void Gathering::let_in() {
  while (auto socket = listener_->accept()) strangers_.emplace_back(*std::move(socket), Greeting::largest);
  if (strangers_.size() > most_strangers) {
    strangers_.erase(strangers_.begin(), strangers_.end() - static_cast<std::ptrdiff_t>(most_strangers));
  }
}

void Gathering::hear_strangers() {
  std::vector<Channel> heard;
  heard.swap(strangers_);
  for (Channel& stranger : heard) {
    Frame frame;
    const Outcome outcome = stranger.take(frame);
    if (outcome == Outcome::late) {
      strangers_.push_back(std::move(stranger));
    } else if (outcome == Outcome::done && frame.kind == FrameKind::greeting) {
      if (const auto greeting = Greeting::parse(frame.payload)) receive(std::move(stranger), *greeting);
    }
  }
}

void Gathering::receive(Channel channel, const Greeting& greeting) {
  const auto refuse = [&](const std::string& why) {
    static_cast<void>(channel.send({FrameKind::refusal, 0, 0, why}, deadline_in(for_a_refusal)));
  };
  if (!same_secret(greeting.token, own_->token)) {
    return refuse(own_->name() + " is of another run: its LINKSCOPE_TOKEN is not that of " + greeting.name());
  }
  std::optional<std::string> complaint = disagreement(*own_, greeting);
  const bool placed = greeting.rank >= 1 && greeting.rank < own_->size;
  Guest* place = placed ? &guests_[static_cast<std::size_t>(greeting.rank) - 1] : nullptr;
  if (!complaint && place == nullptr) {
    complaint = greeting.name() + " has no place in a world of " + std::to_string(own_->size) +
                " whose rank 0 is another process";
  } else if (place != nullptr && place->here) {
    complaint = "two processes say that they are rank " + std::to_string(greeting.rank) + ", on hosts " +
                place->greeting.host + " and " + greeting.host;
  }
  if (complaint && complaint_.empty()) {
    complaint_ = *complaint;
    patience_ = deadline_in(after_complaint);
  }
  if (place == nullptr || place->here) {
    ++turned_away_;
    return refuse(complaint_);
  }
  channel.allow(Channel::largest_payload);
  *place = {std::move(channel), greeting, true};
}

void Gathering::look_after_guests() {
  for (Guest& guest : guests_) {
    Frame frame;  // none is due before the welcome
    if (guest.here && lost_.empty() && guest.channel.take(frame) == Outcome::closed) {
      lost_ = guest.greeting.name();
    }
  }
}

std::vector<int> Gathering::missing() const {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < guests_.size(); ++i) {
    if (!guests_[i].here) ranks.push_back(static_cast<int>(i) + 1);
  }
  return ranks;
}

std::vector<std::string> Gathering::hosts() const {
  std::vector<std::string> hosts{own_->host};
  for (const Guest& guest : guests_) hosts.push_back(guest.greeting.host);
  return hosts;
}

std::vector<Channel> Gathering::take_channels() {
  std::vector<Channel> channels;
  for (Guest& guest : guests_) channels.push_back(std::move(guest.channel));
  return channels;
}

std::vector<int> Gathering::descriptors() const {
  std::vector<int> all{listener_->descriptor()};
  for (const Channel& stranger : strangers_) all.push_back(stranger.descriptor());
  for (const Guest& guest : guests_) {
    if (guest.here) all.push_back(guest.channel.descriptor());
  }
  return all;
}

}  // namespace linkscope
