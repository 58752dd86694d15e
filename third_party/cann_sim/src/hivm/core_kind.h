// The two kinds of cores: one cube core and two vector cores make up what a mixed kernel runs a block on.
#pragma once
#include <cstdint>

namespace hivm {

enum class CoreKind : uint8_t { Vector, Cube };

}  // namespace hivm
