// The plain loop that linkscope's memcpy is held against: nothing but memcpy, a clock and a median.
// usage: memcpy_loop BYTES THREADS [CPU...]   prints GB/s, payload counted once
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

struct Free {
  void operator()(char* p) const { std::free(p); }
};
using Memory = std::unique_ptr<char, Free>;

Memory touched(std::size_t bytes, int value) {
  Memory memory(static_cast<char*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)));
  std::memset(memory.get(), value, bytes);
  return memory;
}

/// Seconds of one round: every thread copies its share `repeats` times; first start to last end.
double round_seconds(char* to, const char* from, std::size_t bytes, const std::vector<int>& cpus, long repeats) {
  std::atomic<int> ready{0};
  std::atomic<bool> open{false};
  std::vector<Clock::time_point> starts(cpus.size());
  std::vector<Clock::time_point> ends(cpus.size());
  std::vector<std::thread> threads;
  const std::size_t share = bytes / cpus.size();
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    threads.emplace_back([&, i] {
      pin(cpus[i]);
      ready.fetch_add(1);
      while (!open.load(std::memory_order_acquire)) {
      }
      starts[i] = Clock::now();
      for (long r = 0; r < repeats; ++r) {
        std::memcpy(to + i * share, from + i * share, share);
        asm volatile("" ::: "memory");
      }
      ends[i] = Clock::now();
    });
  }
  while (ready.load() < static_cast<int>(cpus.size())) std::this_thread::yield();
  open.store(true, std::memory_order_release);
  for (auto& thread : threads) thread.join();
  const auto first = *std::min_element(starts.begin(), starts.end());
  const auto last = *std::max_element(ends.begin(), ends.end());
  return std::chrono::duration<double>(last - first).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: memcpy_loop BYTES THREADS [CPU...]\n");
    return 2;
  }
  const std::size_t bytes = std::strtoull(argv[1], nullptr, 10);
  std::vector<int> cpus(std::strtoul(argv[2], nullptr, 10));
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    cpus[i] = static_cast<int>(3 + i) < argc ? std::atoi(argv[3 + i]) : static_cast<int>(i);
  }
  const Memory from = touched(bytes, 1);
  const Memory to = touched(bytes, 2);
  long repeats = 1;
  while (round_seconds(to.get(), from.get(), bytes, cpus, repeats) < 0.05) repeats *= 2;
  std::vector<double> seconds(15);
  for (double& s : seconds) s = round_seconds(to.get(), from.get(), bytes, cpus, repeats) / static_cast<double>(repeats);
  std::sort(seconds.begin(), seconds.end());
  std::printf("%.4f\n", static_cast<double>(bytes) / seconds[seconds.size() / 2] * 1e-9);
  return 0;
}
