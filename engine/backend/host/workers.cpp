#include "backend/host/workers.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <system_error>

#include "backend/host/topology.hpp"
#include "base/error.hpp"

namespace linkscope::host {

namespace {

constexpr Bytes cut = 64 * KiB;  // the largest ordinary page of any Linux
constexpr Bytes shortest_piece = 256 * KiB;
constexpr std::size_t most_pieces = 32;  // more threads than this hardly speed up a node's memory

}  // namespace

Worker::Worker() {
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error& error) {
    throw Error(Fault::broken, std::string("cannot start a thread: ") + error.what());
  }
}

Worker::Worker(int cpu) : Worker() { move_to(cpu); }

// NOLINTNEXTLINE(bugprone-exception-escape): a worker that has been waited for takes a job
Worker::~Worker() {
  wait();
  start({});
  thread_.join();
}

void Worker::move_to(int cpu) {
  const int status = CpuSet({cpu}).keep(thread_.native_handle());
  if (status == 0) return;
  throw Error(Fault::broken,
              "cannot pin a thread to CPU " + std::to_string(cpu) + ": " + std::strerror(status));
}

// Both counters are published sequentially consistent, and not merely released: libstdc++'s notify looks first whether
// anybody waits, and a load may come before an earlier store unless both are. It would find nobody while the other side
// still finds the old value and goes to sleep forever.
void Worker::start(std::function<void()> job) {
  if (ended_.load(std::memory_order_acquire) != given_.load(std::memory_order_relaxed))
    throw Error(Fault::broken, "a thread was given a job while it had one: two callers use one pool");
  job_ = std::move(job);
  given_.fetch_add(1, std::memory_order_seq_cst);
  given_.notify_one();
}

void Worker::wait() const {
  const std::uint32_t given = given_.load(std::memory_order_relaxed);
  for (auto ended = ended_.load(std::memory_order_acquire); ended != given;) {
    ended_.wait(ended, std::memory_order_acquire);
    ended = ended_.load(std::memory_order_acquire);
  }
}

void Worker::serve() {
  for (std::uint32_t served = 0;; ++served) {
    given_.wait(served, std::memory_order_acquire);
    if (!job_) return;
    job_();
    ended_.store(served + 1, std::memory_order_seq_cst);
    ended_.notify_one();
  }
}

Worker& WorkerPool::worker(std::size_t index) {
  while (workers_.size() <= index) workers_.push_back(std::make_unique<Worker>(cpu_of(workers_.size())));
  return *workers_[index];
}

void WorkerPool::share(Bytes length, const Piece& piece) {
  if (length <= shortest_piece) {
    piece(0, length);
  } else {
    share_pinned(length, piece);
  }
}

void WorkerPool::share_pinned(Bytes length, const Piece& piece) {
  if (length == 0) return;
  const Bytes wanted = (length + shortest_piece - 1) / shortest_piece;
  const auto parts = std::min<Bytes>({wanted, cpus_.size(), most_pieces});
  const Bytes share = ((length + parts - 1) / parts + cut - 1) / cut * cut;
  std::size_t used = 0;
  for (Bytes offset = 0; offset < length; offset += share) {
    const Bytes size = std::min(share, length - offset);
    worker(used++).start([&piece, offset, size] { piece(offset, size); });
  }
  for (std::size_t index = 0; index < used; ++index) worker(index).wait();
}

void WorkerPool::run(std::function<void()> job) {
  worker(0).start(std::move(job));
  worker(0).wait();
}

}  // namespace linkscope::host
