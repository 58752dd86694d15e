// The buffer that a kernel would print into; see tunnel.h.
#pragma once

namespace cce::internal {

struct DebugTunnelData;

}  // namespace cce::internal
