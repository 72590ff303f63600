// Host buffers' numbers: every type, any run of indices, the first wrong byte.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "backend/host/host_buffer.hpp"
#include "model/collective_check.hpp"

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
  const Elements elements{GetParam(), Values::sum, 0, 2, 0};
  std::vector<std::byte> memory(several_pieces);
  HostBuffer buffer = over(memory);
  buffer.fill_elements(0, several_pieces, elements, 1);
  const Bytes width = element_bytes(elements.type);
  for (const Bytes place : {several_pieces - width, 2 * MiB, Bytes{0}}) {
    memory[place] ^= std::byte{1};
    EXPECT_EQ(buffer.compare_elements(0, several_pieces, elements, 1), place);
  }
}

/// Adds up what members have in place, as the kind does, in whole numbers of `type`.
void add_up(const CollectiveShape& shape, std::vector<std::vector<std::byte>>& buffers, Bytes output_step) {
  const std::vector<std::vector<std::byte>> inputs = buffers;
  const Bytes width = sizeof(std::int32_t);
  for (std::size_t member = 0; member < buffers.size(); ++member) {
    if (!shape.receives(static_cast<int>(member))) continue;
    const bool scatters = shape.kind == CollectiveKind::reduce_scatter;
    const Bytes from = scatters ? member * shape.destination_bytes() : 0;
    for (Bytes at = 0; at < shape.destination_bytes(); at += width) {
      std::int32_t sum = 0;
      for (const std::vector<std::byte>& input : inputs) {
        std::int32_t one = 0;
        std::memcpy(&one, input.data() + from + at, width);
        sum += one;
      }
      std::memcpy(buffers[member].data() + member * output_step + at, &sum, width);
    }
  }
}

TEST(HostCollectiveCheck, OfWhatAddsUpInPlaceOneCallIsCheckedAndASecondIsWrong) {
  WorkerPool workers{{0, 0}};
  constexpr Bytes whole = 3 * 64;
  for (const CollectiveKind kind : {CollectiveKind::reduce, CollectiveKind::reduce_scatter}) {
    for (const bool own_block : {false, true}) {  // where the library leaves a reduce-scatter's result
      const CollectiveShape shape{kind, ElementType::int32, InPlace::in, 3, whole};
      std::vector<std::vector<std::byte>> memory(3, std::vector<std::byte>(whole));
      std::vector<std::unique_ptr<HostBuffer>> buffers;
      std::vector<CollectiveCheck> checks;
      for (int member = 0; member < 3; ++member) {
        std::vector<std::byte>& own = memory[static_cast<std::size_t>(member)];
        const Endpoint where;
        buffers.push_back(
            std::make_unique<HostBuffer>(where, whole, own.data(), HostBuffer::Deleter{}, workers));
        checks.emplace_back(shape, member, Arenas{nullptr, buffers.back().get(), {whole, 1}},
                            own_block ? shape.output_offset(member) : 0);
        checks.back().arm(4);
      }
      const Bytes step = own_block ? shape.output_offset(1) : 0;
      add_up(shape, memory, step);
      for (const CollectiveCheck& check : checks) EXPECT_EQ(check.verify(4, 1), std::nullopt);
      add_up(shape, memory, step);
      EXPECT_NE(checks.front().verify(4, 1), std::nullopt);
    }
  }
}

TEST(HostCollectiveCheck, FindsWhatIsWrongInBuffersThatBeginOffTheirSlot) {
  WorkerPool workers{{0, 0}};
  constexpr Bytes payload = 64;
  constexpr Bytes begin = 4;
  const CollectiveShape shape{CollectiveKind::broadcast, ElementType::int32, InPlace::out, 2, payload};
  std::vector<std::byte> sent(96);
  std::vector<std::byte> received(96);
  HostBuffer from(Endpoint{}, sent.size(), sent.data(), HostBuffer::Deleter{}, workers);
  HostBuffer to(Endpoint{}, received.size(), received.data(), HostBuffer::Deleter{}, workers);
  CollectiveCheck check(shape, 0, Arenas{&from, &to, {96, 1, begin}});
  check.arm(4);
  EXPECT_NE(check.verify(4, 1), std::nullopt) << "nothing has been sent";
  std::memcpy(received.data() + begin, sent.data() + begin, payload);
  EXPECT_EQ(check.verify(4, 1), std::nullopt);
  received[begin + payload - 1] ^= std::byte{1};
  EXPECT_NE(check.verify(4, 1), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Types, HostElements,
                         ::testing::Values(ElementType::float32, ElementType::float16, ElementType::bfloat16,
                                           ElementType::int32));

}  // namespace
}  // namespace linkscope::host
