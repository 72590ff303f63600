// peer_work(): the loads and stores of one member, for each kind of collective.
#include "collective/kernels/kernels.hpp"

namespace linkscope::direct {
namespace {

using Kind = CollectiveKind;

/// The members' buffers while work is laid out.
class WorkLayout {
 public:
  WorkLayout(const CollectiveShape& shape, Division division, int me, const std::byte* const* sources,
             std::byte* const* destinations)
      : shape_(shape), me_(me), sources_(sources), destinations_(destinations) {
    block_ = shape.bytes / static_cast<Bytes>(shape.members);
    piece_ = division == Division::two_shot ? share_of(shape.bytes, shape.members) : shape.bytes;
    begin_ = division == Division::two_shot ? piece_ * static_cast<Bytes>(me) : 0;
  }

  PeerWork work(Division division) {
    const bool root_alone = division == Division::one_shot;
    switch (shape_.kind) {
      case Kind::all_reduce:
        load_from_all(begin_);
        root_alone ? store_to(me_, begin_) : store_to_all(begin_);
        job(part_of(shape_.bytes));
        break;
      case Kind::reduce:
        if (root_alone && me_ != 0) break;
        load_from_all(begin_);
        store_to(0, begin_);
        job(part_of(shape_.bytes));
        break;
      case Kind::broadcast:
        if (root_alone && me_ != 0) break;
        load_from(0, begin_);
        store_to_all(begin_);
        job(part_of(shape_.bytes));
        break;
      case Kind::reduce_scatter:
        load_from_all(block_ * static_cast<Bytes>(me_));
        store_to(me_, 0);
        job(block_);
        break;
      case Kind::all_gather:
        load_from(me_, shape_.input_offset(me_));
        store_to_all(block_ * static_cast<Bytes>(me_));
        job(block_);
        break;
      case Kind::all_to_all:
        give_each_its_block();
        break;
      case Kind::barrier:
        work_.is_barrier = true;
        break;
    }
    work_.layout = aligned_ ? Layout::vectors : Layout::elements;
    return work_;
  }

 private:
  /// Bytes of the share that begins at begin_, up to the buffers' end.
  [[nodiscard]] Bytes part_of(Bytes total) const {
    return begin_ >= total ? 0 : (total - begin_ < piece_ ? total - begin_ : piece_);
  }
  void job(Bytes bytes) {
    work_.bytes = bytes;
    work_.jobs = bytes > 0 ? 1 : 0;
  }
  void load_from(int member, Bytes at) {
    note(at);
    work_.sources[work_.source_count++] = sources_[member] + at;
  }
  /// In member order, which is the same in every member: so are the roundings.
  void load_from_all(Bytes at) {
    for (int member = 0; member < shape_.members; ++member) load_from(member, at);
  }
  void store_to(int member, Bytes at) {
    note(at);
    std::byte* to = destinations_[member] + at;
    const bool moves_nothing = work_.source_count == 1 && work_.sources[0] == to && work_.jobs <= 1;
    if (!moves_nothing || shape_.kind == Kind::all_to_all) work_.destinations[work_.destination_count++] = to;
  }
  /// The next member first: not everybody stores to the same one.
  void store_to_all(Bytes at) {
    for (int step = 1; step <= shape_.members; ++step) store_to((me_ + step) % shape_.members, at);
  }
  void give_each_its_block() {
    for (int step = 1; step <= shape_.members; ++step) {
      const int to = (me_ + step) % shape_.members;
      load_from(me_, block_ * static_cast<Bytes>(to));
      store_to(to, block_ * static_cast<Bytes>(me_));
    }
    work_.bytes = block_;
    work_.jobs = shape_.members;
  }
  void note(Bytes at) { aligned_ = aligned_ && at % vector_bytes == 0; }

  const CollectiveShape& shape_;
  int me_;
  const std::byte* const* sources_;
  std::byte* const* destinations_;
  Bytes block_ = 0;
  Bytes piece_ = 0;
  Bytes begin_ = 0;
  bool aligned_ = true;
  PeerWork work_;
};

}  // namespace

PeerWork peer_work(const CollectiveShape& shape, Division division, int me, const std::byte* const* sources,
                   std::byte* const* destinations) {
  return WorkLayout(shape, division, me, sources, destinations).work(division);
}

}  // namespace linkscope::direct
