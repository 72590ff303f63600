// FlowPart and PreparedParts: a flow divided by process and device, and what one process prepares of it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/buffer.hpp"
#include "model/device.hpp"
#include "model/flow.hpp"
#include "model/transfer.hpp"

namespace linkscope {

/// Whether a part's span counts for the flow's time. The mean over a flow's timed parts is the time of the flow.
enum class Timing { timed, untimed };

/// What one device of one process does of a flow. A copy is one part. A message between processes is two, of which the
/// sender's is timed; a collective has one for each member, all timed.
struct FlowPart {
  int rank = 0;
  DeviceId executor;
  std::optional<Endpoint> source;       ///< memory that this part reads and its process allocates
  std::optional<Endpoint> destination;  ///< memory that this part's process allocates and checks
  Timing timing = Timing::timed;
  Bytes source_bytes = 0;  ///< of this part's arena, where that is not what the method's footprint() says
  Bytes destination_bytes = 0;  ///< the same
};

/// The memory a flow may use: arenas of `rotation.slots` slots; null where the flow (the part) has no such end.
struct Arenas {
  Buffer* source = nullptr;
  Buffer* destination = nullptr;
  Rotation rotation;

  /// What the system says of where each end's pages are, for the row's notes; nothing where it is as asked.
  [[nodiscard]] std::vector<std::string> residences() const {
    std::vector<std::string> found;
    const auto add = [&](const char* end, const Buffer* buffer) {
      const std::string told = buffer == nullptr ? "" : buffer->residence();
      if (!told.empty()) found.push_back(end + told);
    };
    add("source: ", source);
    add("destination: ", destination);
    return found;
  }
};

/// This process's part of a flow: its place among all parts of the flow, its memory, and how its case is timed.
struct LocalPart {
  std::size_t index = 0;
  Arenas arenas;
  Regime regime{};  // NOLINT(readability-redundant-member-init): lets initialisers leave it out
};

/// This process's parts of one flow, made ready together. Before anything is armed or run, every process of the run
/// calls export_handles() once, gets what all others export, and calls import_handles().
class PreparedParts {
 public:
  /// No part, or one that knows no other process.
  explicit PreparedParts(std::unique_ptr<Transfer> transfer = nullptr) : transfer_(std::move(transfer)) {}
  virtual ~PreparedParts() = default;
  /// One transfer for each own part, in order.
  [[nodiscard]] virtual std::vector<Transfer*> transfers() const {
    return transfer_ ? std::vector{transfer_.get()} : std::vector<Transfer*>{};
  }
  /// What the other processes must know (handles, addresses, identifiers); any bytes.
  [[nodiscard]] virtual std::string export_handles() { return {}; }
  /// `exports`: every process's, by rank. Reaches the others' memory, sets up communicators. Collective over all
  /// processes, those without a part of the flow included.
  virtual void import_handles(const std::vector<std::string>& /*exports*/) {}
  /// Called once by all processes when the case has ended well: takes back, or keeps for later cases, what they have made
  /// together. Never called where an error has ended the case: the others may be gone, and must not be waited for.
  virtual void finish() {}

 private:
  std::unique_ptr<Transfer> transfer_;
};

/// At most one part of a flow. It knows other processes by the functions that it is given, if any.
class SinglePart final : public PreparedParts {
 public:
  using Exporting = std::function<std::string()>;
  using Importing = std::function<void(const std::vector<std::string>& exports)>;
  /// `transfer`: null where this process has no part. The functions do what those of PreparedParts say.
  explicit SinglePart(std::unique_ptr<Transfer> transfer, Exporting exporting = nullptr,
                      Importing importing = nullptr, std::function<void()> finishing = nullptr)
      : PreparedParts(std::move(transfer)),
        exporting_(std::move(exporting)),
        importing_(std::move(importing)),
        finishing_(std::move(finishing)) {}

  [[nodiscard]] std::string export_handles() override { return exporting_ ? exporting_() : ""; }
  void import_handles(const std::vector<std::string>& exports) override {
    if (importing_) importing_(exports);
  }
  void finish() override {
    if (finishing_) finishing_();
  }

 private:
  Exporting exporting_;
  Importing importing_;
  std::function<void()> finishing_;
};

}  // namespace linkscope
