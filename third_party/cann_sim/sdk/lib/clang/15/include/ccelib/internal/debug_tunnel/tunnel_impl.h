// Nothing is needed here; triton-ascend reads the file when it writes a launcher. See
// internal/debug_tunnel/tunnel.h.
#pragma once
