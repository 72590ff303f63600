// What handshakes say, and how rank 0 accepts connections and reads them.
#include "comm/handshake.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/steady_clock.hpp"

namespace linkscope {
std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string clock_identity() {
  const std::string boot = boot_id();
  if (boot.empty()) return {};
  std::array<char, 64> zone{};
  // Kernels before 5.6 have no time namespaces, and nothing to read.
  const bool zoned = ::readlink("/proc/self/ns/time", zone.data(), zone.size() - 1) > 0;
  return boot + "/" + host_name() + "/" + (zoned ? zone.data() : "");
}

std::string Handshake::text() const { return text_of(*this); }

std::optional<Handshake> Handshake::parse(const std::string& text) {
  const auto said = parsed<Json>(text);
  if (!said || !said->is_object()) return std::nullopt;
  for (const char* number : {"rank", "size"}) {  // the library would make an int of true, 1.9 and 2^32 + 1
    const auto value = said->find(number);
    if (value == said->end() || !value->is_number_integer() || Json(value->get<int>()) != *value)
      return std::nullopt;
  }
  return parsed<Handshake>(text);
}

std::string Handshake::name() const { return name_of_rank(rank, host); }

std::optional<std::string> disagreement(const Handshake& first, const Handshake& other) {
  const auto differ = [&](const std::string& what, const std::string& theirs, const std::string& ours) {
    return other.name() + " has " + what + " " + theirs + ", " + first.name() + " has " + ours +
           ": every process must be given the same plan and the same engine";
  };
  if (first.size != other.size)
    return differ("a world size of", std::to_string(other.size), std::to_string(first.size));
  const std::map<std::string, std::string> said(other.fields.begin(), other.fields.end());
  for (const auto& [name, value] : first.fields) {
    const std::string theirs = said.contains(name) ? said.at(name) : "none";
    if (theirs != value) return differ(name, theirs, value);
  }
  return std::nullopt;
}

bool same_secret(const std::string& one, const std::string& other) {
  if (one.size() != other.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    different |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  }
  return different == 0;
}

std::string name_of_rank(int rank, const std::string& host) {
  return "rank " + std::to_string(rank) + (host.empty() ? "" : " (host " + host + ")");
}

namespace {

constexpr std::size_t most_strangers = 256;
/// The others are on their way, and shall hear the reason too.
constexpr Seconds after_disagreement = 2;
constexpr Seconds for_a_refusal = 0.1;

class Rendezvous {
 public:
  Rendezvous(Listener& listener, const Handshake& own)
      : listener_(&listener), own_(&own), arrivals_(static_cast<std::size_t>(own.size) - 1) {}

  void wait(Deadline deadline) {
    for (;;) {
      accept_arrivals();
      read_handshakes();
      check_arrivals();
      if (is_over(deadline)) return;
      wait_for_any(descriptors(), disagreements_.empty() ? deadline : std::min(deadline, waits_until_));
    }
  }

  [[nodiscard]] Arrivals arrivals() {
    Arrivals all{{}, {own_->host}, missing(), lost_, disagreements_};
    for (Arrival& arrival : arrivals_) {
      all.hosts.push_back(arrival.handshake.host);
      all.channels.push_back(std::move(arrival.channel));
    }
    return all;
  }

 private:
  struct Arrival {
    Channel channel;
    Handshake handshake;
    bool here = false;
  };

  [[nodiscard]] bool is_over(Deadline deadline) const {
    if (missing().empty() || lost_ || has_passed(deadline)) return true;
    const bool all_have_come = missing().size() <= rejected_;
    return !disagreements_.empty() && (all_have_come || has_passed(waits_until_));
  }

  void accept_arrivals() {
    while (auto socket = listener_->accept()) strangers_.emplace_back(*std::move(socket), Handshake::largest);
    if (strangers_.size() > most_strangers) {
      strangers_.erase(strangers_.begin(), strangers_.end() - static_cast<std::ptrdiff_t>(most_strangers));
    }
  }

  void read_handshakes() {
    std::vector<Channel> heard;
    heard.swap(strangers_);
    for (Channel& stranger : heard) {
      Frame frame;
      const Outcome outcome = stranger.take(frame);
      if (outcome == Outcome::late) {
        strangers_.push_back(std::move(stranger));
      } else if (outcome == Outcome::done && frame.kind == FrameKind::handshake) {
        if (const auto handshake = Handshake::parse(frame.payload)) receive(std::move(stranger), *handshake);
      }
    }
  }

  void receive(Channel channel, const Handshake& handshake) {
    const auto refuse = [&](const Causes& why) {
      const Frame refusal{FrameKind::refusal, 0, 0, text_of(why)};
      static_cast<void>(channel.send(refusal, deadline_in(for_a_refusal)));
    };
    if (!same_secret(handshake.token, own_->token)) {
      return refuse(
          {{CauseKind::disagrees,
            {own_->rank},
            own_->name() + " is of another run: its LINKSCOPE_TOKEN is not that of " + handshake.name()}});
    }
    std::optional<std::string> words = disagreement(*own_, handshake);
    const bool placed = handshake.rank >= 1 && handshake.rank < own_->size;
    Arrival* place = placed ? &arrivals_[static_cast<std::size_t>(handshake.rank) - 1] : nullptr;
    if (!words && place == nullptr) {
      words = handshake.name() + " has no place in a group of " + std::to_string(own_->size) +
              " whose rank 0 is another process";
    } else if (place != nullptr && place->here) {
      words = "two processes say that they are rank " + std::to_string(handshake.rank) + ", on hosts " +
              place->handshake.host + " and " + handshake.host;
    }
    if (words && disagreements_.empty()) {
      disagreements_ = {{CauseKind::disagrees, {handshake.rank}, *words}};
      waits_until_ = deadline_in(after_disagreement);
    }
    if (place == nullptr || place->here) {
      ++rejected_;
      return refuse(disagreements_);
    }
    channel.allow(Channel::largest_payload);
    *place = {std::move(channel), handshake, true};
  }

  void check_arrivals() {
    for (Arrival& arrival : arrivals_) {
      Frame frame;  // none is due before the welcome
      if (arrival.here && !lost_ && arrival.channel.take(frame) == Outcome::closed) {
        lost_ = arrival.handshake.rank;
      }
    }
  }

  [[nodiscard]] std::vector<int> missing() const {
    std::vector<int> ranks;
    for (std::size_t i = 0; i < arrivals_.size(); ++i) {
      if (!arrivals_[i].here) ranks.push_back(static_cast<int>(i) + 1);
    }
    return ranks;
  }

  [[nodiscard]] std::vector<int> descriptors() const {
    std::vector<int> all{listener_->descriptor()};
    for (const Channel& stranger : strangers_) all.push_back(stranger.descriptor());
    for (const Arrival& arrival : arrivals_) {
      if (arrival.here) all.push_back(arrival.channel.descriptor());
    }
    return all;
  }

  Listener* listener_;
  const Handshake* own_;
  std::vector<Channel> strangers_;  ///< have not said who they are
  std::vector<Arrival> arrivals_;   ///< of ranks 1, 2, ...
  Causes disagreements_;
  std::size_t rejected_ = 0;  ///< who are of this run and have no place in it
  Deadline waits_until_;      ///< for those who have not come when it is known that all will be sent away
  std::optional<int> lost_;
};

}  // namespace

Arrivals await_arrivals(Listener& listener, const Handshake& own, Deadline deadline) {
  Rendezvous rendezvous(listener, own);
  rendezvous.wait(deadline);
  return rendezvous.arrivals();
}

}  // namespace linkscope
