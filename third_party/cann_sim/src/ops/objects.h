// The opaque objects of the acl operator interface: tensor descriptions, data buffers and attributes.
// torch_npu creates and destroys them around every call, so nothing may keep a pointer to one.
#pragma once
#include <acl/acl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

// The structures are incomplete types of the acl headers, hence not in a namespace.
struct aclTensorDesc {
  aclDataType type = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  std::vector<int64_t> shape;
  std::string name;
  aclFormat storage_format =
      ACL_FORMAT_UNDEFINED;  // kept for the getters' sake: the engine computes on the plain shape
  std::vector<int64_t> storage_shape;
  aclMemType placement = ACL_MEMTYPE_DEVICE;
};

struct aclDataBuffer {
  void* data = nullptr;  // not owned
  size_t bytes = 0;
};

struct aclopAttr {
  // Bools, integers and data types are integers.
  using Value = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                             std::vector<std::vector<int64_t>>>;
  std::map<std::string, Value, std::less<>> values;
};
