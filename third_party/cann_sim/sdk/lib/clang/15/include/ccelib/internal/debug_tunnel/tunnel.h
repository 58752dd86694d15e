// What a launcher that triton-ascend writes under TRITON_DEVICE_PRINT=1 calls around a launch. Output of the
// simulated device needs no buffer: kernels write it themselves (src/hivm/micro/print.cpp).
#pragma once
#include "ccelib/common/common_impl.h"
#include "ccelib/internal/debug_tunnel/payload.h"

namespace cce::internal {

class DebugTunnel {
 public:
  // What the launcher passes on as the kernel's last argument, which nothing reads.
  static DebugTunnelData* Open(uint32_t /*blocks*/) { return nullptr; }
  // Returns when the kernel has run, so that what it printed is there.
  static void Close(DebugTunnelData* /*data*/, void*& stream) { rtStreamSynchronize(stream); }
};

}  // namespace cce::internal
