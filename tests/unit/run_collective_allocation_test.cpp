// Memory that all processes allocate together: two processes keep step whoever of them has a part, and whatever fails.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "base/steady_clock.hpp"
#include "comm/bootstrap.hpp"
#include "fake_backend.hpp"
#include "record_lines.hpp"
#include "run/executor.hpp"

namespace linkscope {
namespace {

constexpr int processes = 2;

/// What two processes do with a symmetric heap, step by step, in memory that both have. A step that the other process does
/// not take, or takes otherwise, is counted: a real heap would hang there, or tear.
struct SymmetricHeap {
  static constexpr std::size_t most_steps = 64;
  static constexpr std::int64_t refused = 1;

  /// `bytes`: allocated; below 0: freed.
  void step(int rank, std::int64_t bytes) {
    const auto own = static_cast<std::size_t>(rank);
    const std::size_t turn = taken[own].load();
    steps[own][turn].store(bytes);
    taken[own].store(turn + 1);
    const Seconds begin = steady_seconds();
    while (taken[1 - own].load() <= turn) {
      if (steady_seconds() - begin > 20) {
        ++faults;
        return;
      }
      std::this_thread::yield();
    }
    if (steps[1 - own][turn].load() != bytes) ++faults;
  }
  [[nodiscard]] std::vector<std::int64_t> steps_of(std::size_t rank) const {
    std::vector<std::int64_t> all;
    for (std::size_t turn = 0; turn < taken[rank].load(); ++turn) all.push_back(steps[rank][turn].load());
    return all;
  }

  std::array<std::atomic<std::size_t>, processes> taken;
  std::array<std::array<std::atomic<std::int64_t>, most_steps>, processes> steps;
  std::atomic<int> faults;
};

class SymmetricBuffer final : public FakeBuffer {
 public:
  SymmetricBuffer(SymmetricHeap& heap, Bytes& used, const Endpoint& where, Bytes bytes)
      : FakeBuffer(where, bytes), heap_(&heap), used_(&used) {
    *used_ += bytes;
  }
  ~SymmetricBuffer() override {
    heap_->step(where().rank, -static_cast<std::int64_t>(bytes()));
    *used_ -= bytes();
  }

 private:
  SymmetricHeap* heap_;
  Bytes* used_;
};

/// Each process has `capacity` bytes of the heap.
class SymmetricMemory final : public Memory {
 public:
  explicit SymmetricMemory(SymmetricHeap& heap)
      : Memory({"symmetric", "fake", {.home = Home::host, .collective_allocation = true}}), heap_(&heap) {}
  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Endpoint&) const override { return Support::yes(); }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override {
    if (used_ + bytes > capacity) {
      heap_->step(where.rank, SymmetricHeap::refused);
      throw Error(Fault::no_memory, "the symmetric heap is full");
    }
    heap_->step(where.rank, static_cast<std::int64_t>(bytes));
    return std::make_unique<SymmetricBuffer>(*heap_, used_, where, bytes);
  }

  Bytes capacity = 64 * MiB;

 private:
  SymmetricHeap* heap_;
  mutable Bytes used_ = 0;
};

/// A case with one flow, on `rank`.
std::string case_on(int rank, const std::string& id, Bytes bytes, const std::string& memory = "symmetric",
                    const std::string& cache = "warm") {
  const std::string end =
      R"({"device":"numa:0","memory":")" + memory + R"(","rank":)" + std::to_string(rank) + "}";
  return R"({"id":")" + id + R"(","clock":"device","cache":")" + cache +
         R"(","flows":[{"method":"memcpy","executor":"numa:0","bytes":)" + std::to_string(bytes) +
         R"(,"rank":)" + std::to_string(rank) + R"(,"source":)" + end + R"(,"destination":)" + end + "}]}";
}

class CollectiveAllocation : public testing::Test {
 protected:
  using Change = std::function<void(int rank, FakeParts&, SymmetricMemory&)>;

  CollectiveAllocation() {
    void* const shared =
        ::mmap(nullptr, sizeof(SymmetricHeap), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    heap_ = new (shared) SymmetricHeap();
  }
  ~CollectiveAllocation() override { ::munmap(heap_, sizeof(SymmetricHeap)); }

  /// Runs the cases in this process, which is rank 0, and in a child; gives the rows' statuses and reasons by id.
  std::map<std::string, std::string> run(
      const std::string& cases, const Change& change = [](int, FakeParts&, SymmetricMemory&) {}) {
    Listener listener{"127.0.0.1"};
    const pid_t child = ::fork();
    if (child == 0) ::_exit(carry_out(1, listener, cases, change).empty() ? 1 : 0);
    std::map<std::string, std::string> statuses;
    for (const Json& record : carry_out(0, listener, cases, change)) {
      if (!record.contains("status")) continue;
      const std::string reason =
          record.value("reason", "");  // behind the name of the process that failed first
      statuses[record["id"]] =
          record["status"].get<std::string>() + (reason.empty() ? "" : reason.substr(reason.rfind(": ")));
    }
    int ended = -1;
    EXPECT_EQ(::waitpid(child, &ended, 0), child);
    EXPECT_EQ(ended, 0);
    EXPECT_EQ(heap_->faults.load(), 0) << "the processes were out of step";
    EXPECT_EQ(heap_->steps_of(0), heap_->steps_of(1));
    std::int64_t left = 0;
    for (const std::int64_t bytes : heap_->steps_of(0)) left += bytes == SymmetricHeap::refused ? 0 : bytes;
    EXPECT_EQ(left, 0) << "all is freed";
    return statuses;
  }
  [[nodiscard]] std::vector<std::int64_t> steps() const { return heap_->steps_of(0); }

 private:
  std::vector<Json> carry_out(int rank, Listener& listener, const std::string& cases, const Change& change) {
    BootstrapOptions own;
    own.handshake.rank = rank;
    own.handshake.size = processes;
    own.handshake.host = "node";
    own.limit = 60;
    const auto group = rank == 0 ? std::make_unique<Bootstrap>(listener, own)
                                 : std::make_unique<Bootstrap>(Address{"127.0.0.1", listener.port()}, own);
    Plan plan = parse_plan(R"({"schema":1,"options":{},"cases":[)" + cases + "]}");
    FakeParts fakes = fake_backend();
    auto memory = std::make_unique<SymmetricMemory>(*heap_);
    change(rank, fakes, *memory);
    fakes.backend.memories.push_back(std::move(memory));
    std::FILE* file = std::tmpfile();
    JsonLines out(fileno(file));
    const Health health = Executor(fakes.backend, plan, Environment{}, *group, out).run();
    return health == Health::sound ? lines_of(file) : std::vector<Json>();
  }

  SymmetricHeap* heap_;
};

constexpr std::int64_t mib = MiB;
using Statuses = std::map<std::string, std::string>;
using Steps = std::vector<std::int64_t>;

TEST_F(CollectiveAllocation, AProcessWithoutAPartAllocatesAndFreesAsWell) {
  EXPECT_EQ(run(case_on(0, "a", MiB)), (Statuses{{"a", "ok"}}));
  EXPECT_EQ(steps(), (Steps{mib, mib, -mib, -mib}));
}

TEST_F(CollectiveAllocation, ArenasServeLaterCasesWhoeverHasThePart) {
  EXPECT_EQ(run(case_on(0, "a", MiB) + "," + case_on(1, "b", MiB - 5000)),
            (Statuses{{"a", "ok"}, {"b", "ok"}}));
  EXPECT_EQ(steps(), (Steps{mib, mib, -mib, -mib}));
}

TEST_F(CollectiveAllocation, AnArenaIsAsLargeAsAnyProcessNeeds) {
  const auto larger_cache = [](int rank, FakeParts& fakes, SymmetricMemory&) {
    fakes.method->through = rank == 1 ? 8'000'000 : 1'000'000;
  };
  EXPECT_EQ(run(case_on(0, "a", 4096, "symmetric", "rotated"), larger_cache), (Statuses{{"a", "ok"}}));
  EXPECT_EQ(steps(), (Steps{8 * mib, 8 * mib, -8 * mib, -8 * mib}));
}

TEST_F(CollectiveAllocation, AFullHeapIsEmptiedByAllAndTriedOnceMore) {
  const auto small_heap = [](int, FakeParts&, SymmetricMemory& memory) { memory.capacity = 16 * MiB; };
  EXPECT_EQ(run(case_on(0, "a", MiB) + "," + case_on(1, "b", 8 * MiB) + "," + case_on(1, "c", 16 * MiB),
                small_heap),
            (Statuses{{"a", "ok"}, {"b", "ok"}, {"c", "skipped: the symmetric heap is full"}}));
  const std::int64_t full = SymmetricHeap::refused;
  EXPECT_EQ(steps(), (Steps{mib, mib, 8 * mib, full, -mib, -mib, -8 * mib, 8 * mib, 8 * mib, full, -8 * mib,
                            -8 * mib, 16 * mib, full, -16 * mib}));
}

TEST_F(CollectiveAllocation, WhereOneProcessRunsOutOfOtherMemoryAllFreeWhatTheyHaveTogether) {
  const auto refuses_twice = [](int rank, FakeParts& fakes, SymmetricMemory&) {
    if (rank == 1) fakes.memory->refusals = 2;
  };
  EXPECT_EQ(run(case_on(0, "a", MiB) + "," + case_on(1, "b", MiB, "pageable"), refuses_twice),
            (Statuses{{"a", "ok"}, {"b", "ok"}}));
  EXPECT_EQ(steps(), (Steps{mib, mib, -mib, -mib}));
}

}  // namespace
}  // namespace linkscope
