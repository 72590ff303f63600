// SlotTransfer: CPU threads that go over slots of memory together: what memcpy, cpu-read and cpu-write share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/host/context.hpp"
#include "backend/host/host_transfer.hpp"
#include "model/copy_check.hpp"
#include "model/method.hpp"

namespace linkscope::host {

inline constexpr Parameter thread_count =
    integer("threads", "CPU threads that share the work, each on its own CPU of the executor", 1, 1 << 20, 1);

/// The bytes that one of several threads works on.
struct ThreadShare {
  Bytes offset = 0;
  Bytes size = 0;
};
/// Counts the threads, of `threads`, that have a share of `bytes` cut at multiples of `cut`: one for each piece at
/// most.
[[nodiscard]] unsigned sharers(Bytes bytes, std::int64_t threads, Bytes cut);
/// Share `part` of `bytes` among `parts` threads, cut at multiples of `cut`. Shares differ by one piece at most.
[[nodiscard]] ThreadShare share_of(Bytes bytes, unsigned part, unsigned parts, Bytes cut);

/// Each thread works on one contiguous share of every slot, cut at cache lines; slot follows slot, round and round.
/// Derive, and hand sweep() the work on one share. Where it has a destination, each start is checked: one comparison
/// after all starts cannot find a transfer that does nothing where others take the same slot, nor one that delivers
/// what the source held when an earlier one ran.
class SlotTransfer : public HostTransfer {
 public:
  /// The arenas' buffers outlive it, and the CPU loads and stores them.
  SlotTransfer(const Flow& flow, const Arenas& arenas);

  void arm(std::uint64_t seed) override;
  /// Changes a byte in each of the slots that the start takes next, which it must then have carried.
  void restore() override;
  /// Throws Error{mismatch} where a transfer of the start left such a byte out. All are as before then.
  void rethrow() override;
  /// Says where the pages of both ends were found.
  [[nodiscard]] std::vector<std::string> notes() const override { return arenas_.residences(); }

 protected:
  /// Calls work(offset, size) for the share of thread `part` in each of `repeats` slots; `offset` counts from the
  /// arenas' start.
  template <class Work>
  void sweep(unsigned part, std::uint64_t first, std::uint64_t repeats, Work work) const noexcept;

  [[nodiscard]] const Arenas& arenas() const { return arenas_; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  struct Changed {
    Bytes at = 0;
    std::uint64_t transfer = 0;
    std::byte held{};     ///< by the pattern
    std::byte carried{};  ///< what the transfer shall deliver
    std::byte before{};   ///< in the destination
  };

  void put_back();
  /// Keeps repeats of one pass apart: a compiler must assume that it reads and changes all memory.
  static void touch_all_memory() { asm volatile("" ::: "memory"); }

  static constexpr Bytes line = 64;

  Arenas arenas_;
  Bytes bytes_;
  std::uint64_t drawn_ = 0;  ///< places of changed bytes
  std::vector<Changed> changed_;
};

template <class Work>
void SlotTransfer::sweep(unsigned part, std::uint64_t first, std::uint64_t repeats,
                         Work work) const noexcept {
  const auto [offset, size] = share_of(bytes_, part, threads(), line);
  const Rotation& rotation = arenas_.rotation;
  if (rotation.slots == 1) {  // apart, so that passes of a few ns carry no cost of rotating
    for (std::uint64_t i = 0; i < repeats; ++i) {
      work(offset, size);
      touch_all_memory();
    }
    return;
  }
  const Bytes end = rotation.slots * rotation.stride;
  Bytes slot = first % rotation.slots * rotation.stride;
  for (std::uint64_t i = 0; i < repeats; ++i) {
    work(slot + offset, size);
    touch_all_memory();
    slot += rotation.stride;
    if (slot >= end) slot = 0;
  }
}

/// Tells whether the executor can give as many threads for this flow as it wants.
[[nodiscard]] Support threads_available(const HostContext& context, const Flow& flow);

}  // namespace linkscope::host
