// Offers as bytes: numbers of four, and texts with their lengths before them.
#include "collective/member_offer.hpp"

#include <cstdint>
#include <cstring>

#include "base/error.hpp"

namespace linkscope::direct {
namespace {

class Writer {
 public:
  void put(std::uint32_t number) { text_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void put(const std::optional<gpu::IpcOffer>& offer) {
    const std::string bytes = offer ? offer->text() : std::string();
    put(static_cast<std::uint32_t>(bytes.size()));
    text_ += bytes;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}
  std::uint32_t number() {
    std::uint32_t value = 0;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  std::optional<gpu::IpcOffer> offer() {
    const std::uint32_t size = number();
    if (size == 0) return std::nullopt;
    return gpu::IpcOffer::read(std::string(take(size), size));
  }

 private:
  const char* take(std::size_t bytes) {
    if (bytes > text_.size() - at_)
      throw Error(Fault::broken, "a process offered no members: do all run the same engine?");
    at_ += bytes;
    return text_.data() + at_ - bytes;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string text_of(const std::vector<MemberOffer>& offers) {
  Writer writer;
  writer.put(static_cast<std::uint32_t>(offers.size()));
  for (const MemberOffer& offer : offers) {
    writer.put(static_cast<std::uint32_t>(offer.index));
    writer.put(static_cast<std::uint32_t>(offer.multiprocessors));
    writer.put(std::uint32_t{offer.programmatic ? 1U : 0U});
    writer.put(offer.workspace);
    writer.put(offer.source);
    writer.put(offer.destination);
  }
  return writer.text();
}

std::vector<MemberOffer> read_offers(const std::string& text) {
  Reader reader(text);
  std::vector<MemberOffer> offers(reader.number());
  for (MemberOffer& offer : offers) {
    offer.index = static_cast<int>(reader.number());
    offer.multiprocessors = static_cast<int>(reader.number());
    offer.programmatic = reader.number() != 0;
    offer.workspace = reader.offer();
    offer.source = reader.offer();
    offer.destination = reader.offer();
  }
  return offers;
}

}  // namespace linkscope::direct
