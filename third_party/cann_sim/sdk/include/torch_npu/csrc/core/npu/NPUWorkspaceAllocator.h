// A slim stand-in for torch_npu's NPUWorkspaceAllocator.h, seen only by the launchers that triton-ascend
// compiles (see ATen/ATen.h). Launchers of kernels that hold a lock between blocks take the lock's memory
// from here.
#pragma once

#include <ATen/ATen.h>
#include <acl/acl.h>

#include <cstdint>

namespace at_npu {
namespace native {

__attribute__((visibility("default"))) at::Tensor allocate_workspace(uint64_t bytes, aclrtStream stream);

}  // namespace native
}  // namespace at_npu
