// Host buffers' numbers: every type, any run of indices, the first wrong byte.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "backend/host/host_buffer.hpp"

namespace linkscope::host {
namespace {

constexpr Bytes several_pieces = 3 * MiB + 64;

class HostElements : public ::testing::TestWithParam<ElementType> {
 protected:
  HostBuffer over(std::vector<std::byte>& memory) { return {{}, memory.size(), memory.data(), {}, workers_}; }

  WorkerPool workers_{{0, 0}};
};

TEST_P(HostElements, AreWhatTheModelSaysAtEveryIndex) {
  const Elements elements{GetParam(), Values::sum, 0, 3, 1000};
  const Bytes width = element_bytes(elements.type);
  std::vector<std::byte> memory(several_pieces + 2 * width, std::byte{0x11});
  HostBuffer buffer = over(memory);
  buffer.fill_elements(width, several_pieces, elements, 5);
  for (Bytes i = 0; i < several_pieces / width; ++i) {
    std::uint32_t found = 0;
    std::memcpy(&found, memory.data() + (i + 1) * width, width);
    ASSERT_EQ(found, element_bits(elements.type, summed_element(5, 3, 1000 + i))) << i;
  }
  EXPECT_EQ(memory.front(), std::byte{0x11});
  EXPECT_EQ(memory.back(), std::byte{0x11});
}

TEST_P(HostElements, OfOneRunCompareOverAnotherCutOfIt) {
  const Elements whole{GetParam(), Values::input, 2, 4, 0};
  std::vector<std::byte> memory(several_pieces);
  HostBuffer buffer = over(memory);
  buffer.fill_elements(0, several_pieces, whole, 9);
  Elements second_half = whole;
  second_half.first = several_pieces / 2 / element_bytes(whole.type);
  EXPECT_EQ(buffer.compare_elements(several_pieces / 2, several_pieces / 2, second_half, 9), std::nullopt);
  EXPECT_NE(buffer.compare_elements(0, several_pieces, whole, 10), std::nullopt);
  Elements of_another = whole;
  of_another.member = 3;
  EXPECT_NE(buffer.compare_elements(0, several_pieces, of_another, 9), std::nullopt);
}

TEST_P(HostElements, TheFirstWrongOneIsNamed) {
  const Elements elements{GetParam(), Values::zero, 0, 2, 0};
  std::vector<std::byte> memory(several_pieces);
  HostBuffer buffer = over(memory);
  buffer.fill_elements(0, several_pieces, elements, 1);
  const Bytes width = element_bytes(elements.type);
  for (const Bytes place : {several_pieces - width, 2 * MiB, Bytes{0}}) {
    memory[place] = std::byte{1};
    EXPECT_EQ(buffer.compare_elements(0, several_pieces, elements, 1), place);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, HostElements,
                         ::testing::Values(ElementType::float32, ElementType::float16, ElementType::bfloat16,
                                           ElementType::int32));

}  // namespace
}  // namespace linkscope::host
