// Vectors: how threads load, sum up and store what is in buffers, 16 bytes at a time and several of them in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backend/gpu/vendor.hpp"
#include "base/units.hpp"
#include "collective/kernels/numbers.hpp"

namespace linkscope::direct {

using gpu::vendor::Vector;

/// A thread's vectors: the first `at` bytes into a buffer, the others `apart` bytes apart.
template <int vectors>
__device__ void load_vectors(const std::byte* from, Bytes at, Bytes apart, Vector (&loads)[vectors]) {
  for (int v = 0; v < vectors; ++v)
    loads[v] = gpu::vendor::load_streaming(
        reinterpret_cast<const Vector*>(from + at + apart * static_cast<Bytes>(v)));
}

template <int vectors>
__device__ void store_vectors(std::byte* to, Bytes at, Bytes apart, const Vector (&results)[vectors]) {
  for (int v = 0; v < vectors; ++v)
    gpu::vendor::store_streaming(reinterpret_cast<Vector*>(to + at + apart * static_cast<Bytes>(v)),
                                 results[v]);
}

/// Adds `count` sources from `first` on, all their loads in flight at once; source s begins at from(s).
template <int count, int vectors, class From, class Sum>
__device__ void add_sources(const From& from, int first, Bytes at, Bytes apart, Sum (&sums)[vectors]) {
  Vector loads[count][vectors];
  for (int s = 0; s < count; ++s) load_vectors(from(first + s), at, apart, loads[s]);
  for (int s = 0; s < count; ++s) {
    for (int v = 0; v < vectors; ++v) {
      const std::uint64_t words[2] = {low_word(loads[s][v]), high_word(loads[s][v])};
      sums[v].add(words);
    }
  }
}

/// The sums of a thread's vectors over all of `count` sources, in their order.
template <class Number, int vectors, class From>
__device__ void sum_vectors(const From& from, int count, Bytes at, Bytes apart, Vector (&results)[vectors]) {
  WordSum<Number, 2> sums[vectors];
  int done = 0;
  for (; done + 4 <= count; done += 4) add_sources<4>(from, done, at, apart, sums);
  for (; done + 2 <= count; done += 2) add_sources<2>(from, done, at, apart, sums);
  for (; done < count; ++done) add_sources<1>(from, done, at, apart, sums);
  for (int v = 0; v < vectors; ++v) {
    std::uint64_t words[2];
    sums[v].total(words);
    results[v] = gpu::vendor::vector_of(words[0], words[1]);
  }
}

/// The sum of one element over all sources.
template <class Number, class From>
__device__ typename Number::Stored sum_element(const From& from, int count, Bytes at) {
  typename Number::Wide sum{};
  for (int s = 0; s < count; ++s)
    sum += Number::widen(*reinterpret_cast<const typename Number::Stored*>(from(s) + at));
  return Number::narrow(sum);
}

/// Calls move(n, at) for this thread's vectors from `at` on up to `whole`, n of them at once (a constant), as many as
/// there are up to `most`.
template <int most, class Move>
__device__ void each_vector(Bytes at, Bytes whole, const Move& move) {
  const Bytes apart = blockDim.x * vector_bytes;
  for (; at + (most - 1) * apart < whole; at += most * apart) move(std::integral_constant<int, most>(), at);
  if constexpr (most > 1) each_vector<most / 2>(at, whole, move);
}

/// The same for all of `bytes`, and element(at) behind the last whole vector.
template <int most, class Stored, class Move, class Element>
__device__ void each_part(Bytes bytes, const Move& move, const Element& element) {
  const Bytes whole = bytes / vector_bytes * vector_bytes;
  each_vector<most>(threadIdx.x * vector_bytes, whole, move);
  for (Bytes at = whole + threadIdx.x * sizeof(Stored); at < bytes; at += blockDim.x * sizeof(Stored))
    element(at);
}

}  // namespace linkscope::direct
