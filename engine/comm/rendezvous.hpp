// Rendezvous: rank 0 waits for everybody else.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "comm/cause.hpp"
#include "comm/channel.hpp"
#include "comm/handshake.hpp"
#include "comm/socket.hpp"

namespace linkscope {

/// Lets in processes that know the run's secret, in any order. Strangers neither hold it up nor count.
class Rendezvous {
 public:
  /// Both outlive it. `own` is rank 0's handshake, which others are compared with.
  Rendezvous(Listener& listener, const Handshake& own);

  /// Returns when all have come, when one that had come is gone, soon after a disagreement, or at the deadline.
  void wait(Deadline deadline);

  /// The first that was noticed; empty where the processes agree.
  [[nodiscard]] const Causes& disagreements() const { return disagreements_; }
  [[nodiscard]] std::vector<int> missing() const;
  /// The rank that had come and is gone.
  [[nodiscard]] std::optional<int> lost() const { return lost_; }
  /// By rank; empty for who is missing.
  [[nodiscard]] std::vector<std::string> hosts() const;
  /// Of ranks 1, 2, ...; closed ones for who is missing. They are taken out.
  [[nodiscard]] std::vector<Channel> take_channels();

 private:
  struct Arrival {
    Channel channel;
    Handshake handshake;
    bool here = false;
  };

  [[nodiscard]] bool is_over(Deadline deadline) const;
  void accept_arrivals();
  void read_handshakes();
  void receive(Channel channel, const Handshake& handshake);
  void check_arrivals();
  [[nodiscard]] std::vector<int> descriptors() const;

  Listener* listener_;
  const Handshake* own_;
  std::vector<Channel> strangers_;  ///< have not said who they are
  std::vector<Arrival> arrivals_;   ///< of ranks 1, 2, ...
  Causes disagreements_;
  std::size_t rejected_ = 0;  ///< who are of this run and have no place in it
  Deadline waits_until_;      ///< for those who have not come when it is known that all will be sent away
  std::optional<int> lost_;
};

}  // namespace linkscope
