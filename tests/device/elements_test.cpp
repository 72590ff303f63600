// Every memory of the GPU backend fills itself with the numbers of a collective and finds the first that is wrong.
#include <array>
#include <cstring>

#include "any_memory.hpp"
#include "backend/gpu/vendor.hpp"
#include "model/elements.hpp"

namespace linkscope::testing {
namespace {

constexpr std::array types = {ElementType::float32, ElementType::float16, ElementType::bfloat16,
                              ElementType::int32};
constexpr std::array values = {Values::input, Values::sum};

class GpuElements : public WithMemory {};

TEST_P(GpuElements, AreFoundAsTheyWereFilled) {
  const auto buffer = allocate();
  if (buffer == nullptr) GTEST_SKIP();
  std::uint64_t seed = 1;
  for (const ElementType type : types) {
    for (const Values kind : values) {
      const Elements elements{type, kind, 1, 4, 1000};
      for (const Bytes count : {Bytes{1}, Bytes{7}, Bytes{1025}, Bytes{500003}}) {
        const Bytes length = count * element_bytes(type);
        const Bytes offset = 3 * element_bytes(type);
        buffer->fill_elements(offset, length, elements, ++seed);
        EXPECT_EQ(buffer->compare_elements(offset, length, elements, seed), std::nullopt) << count;
        buffer->poison(offset + length - element_bytes(type), element_bytes(type));
        EXPECT_GE(buffer->compare_elements(offset, length, elements, seed).value_or(0),
                  length - element_bytes(type));
      }
    }
  }
}

TEST_P(GpuElements, NameTheFirstWrongByte) {
  const auto buffer = allocate();
  if (buffer == nullptr) GTEST_SKIP();
  const Elements elements{ElementType::int32, Values::sum, 0, 1, 0};
  buffer->fill_elements(0, MiB, elements, 1);
  buffer->poison(777778, 5);
  buffer->poison(900000, 4);
  EXPECT_EQ(buffer->compare_elements(0, MiB, elements, 1), Bytes{777778});
}

TEST_P(GpuElements, HoldTheBitsThatTheModelStates) {
  const auto buffer = allocate();
  if (buffer == nullptr) GTEST_SKIP();
  constexpr std::uint64_t count = 4099;
  constexpr std::uint64_t seed = 12345;
  for (const ElementType type : types) {
    const Elements elements{type, Values::sum, 2, 5, 70000};
    const Bytes width = element_bytes(type);
    buffer->fill_elements(0, count * width, elements, seed);
    std::vector<std::byte> held(count * width);
    ASSERT_EQ(gpuMemcpy(held.data(), buffer->data(), held.size(), gpuMemcpyDefault), gpuSuccess);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, held.data() + i * width, width);
      ASSERT_EQ(bits, element_bits(type, element_at(elements, seed, i))) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Memories, GpuElements, ::testing::ValuesIn(memories), memory_test_name);

TEST_F(WithGpus, ElementsMustBeWhole) {
  const auto buffer = memory("device").allocate(at("device"), 4096);
  const Elements elements{ElementType::float32, Values::input, 0, 1, 0};
  EXPECT_THROW(buffer->fill_elements(2, 8, elements, 1), Error);
  EXPECT_THROW(static_cast<void>(buffer->compare_elements(0, 6, elements, 1)), Error);
}

}  // namespace
}  // namespace linkscope::testing
