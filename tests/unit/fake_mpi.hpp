// A table of MPI functions without an MPI: one process that talks to nobody, fails on demand, and counts.
#pragma once

#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <thread>

#include "backend/mpi/functions.h"

namespace linkscope::mpi {

/// What the functions do next, and have done. Functions of a C table know nothing else.
struct FakeMpi {
  MpiThreads threads = threads_single;
  int rank = 0;
  int size = 2;
  MpiHeader header = header_of_standard_abi;
  MpiSum half = sum_unnamed;  ///< of 16-bit floats
  int send_code = 0;
  int sends = 0;
  int barriers = 0;
  std::chrono::microseconds barrier_time{0};
  int reductions = 0;
  const void* last_input = nullptr;  ///< of reduce
  int splits = 0;
  int last_tag = -1;
  int windows = 0;                    ///< made and not withdrawn
  std::set<std::thread::id> callers;  ///< of all functions but those that any thread may call

  static FakeMpi& state() {
    static FakeMpi one;
    return one;
  }
  /// The same, for a function that takes note of who calls it.
  static FakeMpi& called() {
    state().callers.insert(std::this_thread::get_id());
    return state();
  }
  /// As new.
  static FakeMpi& reset() { return state() = {}; }
  static const MpiFunctions& table();
};

inline const MpiFunctions& FakeMpi::table() {
  static MpiFunctions functions = [] {
    MpiFunctions f{};
    f.layout = LINKSCOPE_MPI_LAYOUT;
    f.request_bytes = sizeof(int);
    f.most_elements = 1 << 20U;
    f.library_version = [](char* text, int room) {
      std::strncpy(text, "Fake  MPI v1.2, built by nobody\nsecond line", static_cast<std::size_t>(room));
      return 0;
    };
    f.memory_kinds = [](char* text, int) {
      text[0] = '\0';
      return 0;
    };
    f.error_text = [](int code, char* text, int room) {
      called();
      std::strncpy(text, code == 7 ? "the wire\nbroke" : "unknown", static_cast<std::size_t>(room));
      return 0;
    };
    f.start = [](MpiThreads, MpiThreads* given, MpiHandle* world) {
      *given = called().threads;
      *world = 1;
      return 0;
    };
    f.rank_in = [](MpiHandle, int* rank) {
      *rank = called().rank;
      return 0;
    };
    f.size_of = [](MpiHandle, int* size) {
      *size = called().size;
      return 0;
    };
    f.split = [](MpiHandle, int colour, int, MpiHandle* part) {
      *part = colour < 0 ? 0U : 100U + static_cast<MpiHandle>(called().splits);
      ++state().splits;
      return 0;
    };
    f.meet = [](int, int, MpiHandle) {
      called();
      return 0;
    };
    f.send = [](const void*, std::int64_t, int, int tag, MpiHandle) {
      ++called().sends;
      state().last_tag = tag;
      return state().send_code;
    };
    f.receive = [](void*, std::int64_t, int, int, MpiHandle) { return 0; };
    f.try_sum = [](MpiElement type) {
      return type == element_float32 || type == element_int32 ? sum_right : called().half;
    };
    f.barrier = [](MpiHandle) {
      ++called().barriers;
      std::this_thread::sleep_for(state().barrier_time);
      return 0;
    };
    f.all_reduce = [](const void* from, void* to, std::int64_t count, MpiElement, MpiHandle) {
      ++called().reductions;
      if (from != nullptr) std::memcpy(to, from, static_cast<std::size_t>(count) * 4);
      return 0;
    };
    f.reduce = [](const void* from, void*, std::int64_t, MpiElement, int, MpiHandle) {
      called().last_input = from;
      return 0;
    };
    f.expose = [](void*, std::int64_t, MpiHandle, MpiHandle* window) {
      *window = static_cast<MpiHandle>(++called().windows);
      return 0;
    };
    f.withdraw = [](MpiHandle* window) {
      *window = 0;
      --called().windows;
      return 0;
    };
    f.finish = [] {
      called();
      return 0;
    };
    return f;
  }();
  functions.header = state().header;
  return functions;
}

}  // namespace linkscope::mpi
