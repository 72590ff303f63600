// SyncMode: how a host thread waits for a GPU.
#pragma once

namespace linkscope {

/// The vendors' words. On AMD `block` and `yield` are one.
enum class SyncMode {
  spin,   ///< polls: the shortest way from completion to return
  yield,  ///< polls, and lets other threads have the CPU between looks
  block,  ///< sleeps until an interrupt
};

}  // namespace linkscope
