// Circle: this process's members of one direct collective, and how they come to the others' memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/gpu/context.hpp"
#include "backend/gpu/ipc/mapping.hpp"
#include "collective/member.hpp"
#include "collective/member_offer.hpp"
#include "model/part.hpp"

namespace linkscope::direct {

/// Workspaces whose circle is gone. Other processes may still map them: until all have come as far as the next flow.
using RetiredSpaces = std::vector<MemberSpace>;

class Circle final : public Ensemble {
 public:
  /// `own` has a part at least. Allocates the workspaces, which end up in `retired`.
  Circle(std::shared_ptr<gpu::Context> context, std::shared_ptr<gpu::IpcMappings> mappings,
         std::shared_ptr<RetiredSpaces> retired, Flow flow, std::vector<OwnPart> own);
  ~Circle() override;
  Circle(const Circle&) = delete;
  Circle& operator=(const Circle&) = delete;

  [[nodiscard]] std::vector<Transfer*> transfers() const override;
  /// Where members are in several processes: handles of the workspaces and, where kernels may work on them, the buffers.
  [[nodiscard]] std::string offer() override;
  void connect(const std::vector<std::string>& offers) override;

 private:
  /// What is known of every member once all have offered.
  struct Seat {
    int device = 0;  ///< its GPU, by this process's count
    int multiprocessors = 1;
    bool programmatic = false;
    const OwnPart* own = nullptr;  ///< where it is this process's
    const MemberSpace* space = nullptr;
    MemberOffer offer;  ///< where it is not
  };

  [[nodiscard]] int own_rank() const;
  [[nodiscard]] std::vector<Seat> seats(const std::vector<std::string>& offers) const;
  [[nodiscard]] static int sharing(const std::vector<Seat>& seats);
  [[nodiscard]] Room room(const std::vector<Seat>& seats) const;
  /// Whether kernels of this process's can start so on its GPU.
  [[nodiscard]] bool starts_programmatically(int device) const;
  [[nodiscard]] bool lines_arrive(const std::vector<Seat>& seats) const;
  /// Whether all members' kernels reach all members' buffers, as every process sees it.
  [[nodiscard]] bool peers_reach(const std::vector<Seat>& seats) const;
  [[nodiscard]] Reached reach(int device, int me, const std::vector<Seat>& seats, const Room& room);
  [[nodiscard]] std::byte* reach(int device, const Buffer& buffer);
  [[nodiscard]] std::byte* reach(int device, const gpu::IpcOffer& offer, int rank);

  std::shared_ptr<gpu::Context> context_;
  std::shared_ptr<gpu::IpcMappings> mappings_;
  std::shared_ptr<RetiredSpaces> retired_;
  Flow flow_;
  CollectiveShape shape_;
  Form form_;
  std::vector<OwnPart> own_;
  std::vector<MemberSpace> spaces_;  ///< of the own parts, in order
  std::vector<gpu::Reached> held_;   ///< peer access
  std::vector<std::unique_ptr<gpu::ForeignBuffer>> mapped_;
  std::vector<std::unique_ptr<Transfer>> members_;  ///< go first
};

}  // namespace linkscope::direct
