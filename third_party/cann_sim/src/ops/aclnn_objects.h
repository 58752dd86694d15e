// The opaque objects of the aclnn interface. torch_npu destroys them after the second of an operator's two
// calls.
#pragma once
#include <acl/acl.h>

#include <cstdint>
#include <functional>
#include <vector>

// The structures are incomplete types of the acl headers, hence not in a namespace.
struct aclTensor {
  aclDataType type = ACL_DT_UNDEFINED;
  std::vector<int64_t> shape, strides;
  int64_t offset = 0;    // of the first element, in elements
  void* data = nullptr;  // of the storage; not owned
};

// What the first call has prepared; the second one runs and deletes it.
struct aclOpExecutor {
  std::function<aclError(aclrtStream)> run;
};

struct aclScalar {
  double value = 0;
};
struct aclIntArray {
  std::vector<int64_t> values;
};
