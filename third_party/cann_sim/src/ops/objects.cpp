#include "ops/objects.h"

#include <acl/acl_op.h>

#include "runtime/errors.h"

using cann_sim::set_error;

namespace {

template <class T>
aclError set_attribute(aclopAttr* attribute, const char* name, T value) {
  if (!attribute || !name)
    return set_error(ACL_ERROR_INVALID_PARAM, "aclopSetAttr*: attribute or name is null");
  attribute->values.insert_or_assign(name, aclopAttr::Value(std::move(value)));
  return ACL_SUCCESS;
}

template <class Target, class Source>
aclError set_list(aclopAttr* attribute, const char* name, int count, const Source* values) {
  if (count < 0 || (count > 0 && !values))
    return set_error(ACL_ERROR_INVALID_PARAM, "aclopSetAttrList*: the list is null or its length negative");
  return set_attribute(attribute, name, std::vector<Target>(values, values + count));
}

}  // namespace

extern "C" {

aclTensorDesc* aclCreateTensorDesc(aclDataType type, int rank, const int64_t* shape, aclFormat format) {
  if (rank < 0 || (rank > 0 && !shape)) {
    set_error(ACL_ERROR_INVALID_PARAM, "aclCreateTensorDesc: the shape is null or the rank negative");
    return nullptr;
  }
  auto* description = new aclTensorDesc;
  description->type = type;
  description->format = format;
  description->shape.assign(shape, shape + rank);
  return description;
}
void aclDestroyTensorDesc(const aclTensorDesc* description) { delete description; }

aclDataType aclGetTensorDescType(const aclTensorDesc* description) {
  return description ? description->type : ACL_DT_UNDEFINED;
}
aclFormat aclGetTensorDescFormat(const aclTensorDesc* description) {
  return description ? description->format : ACL_FORMAT_UNDEFINED;
}
size_t aclGetTensorDescNumDims(const aclTensorDesc* description) {
  return description ? description->shape.size() : 0;
}
aclError aclGetTensorDescDimV2(const aclTensorDesc* description, size_t index, int64_t* size) {
  if (!description || !size)
    return set_error(ACL_ERROR_INVALID_PARAM, "aclGetTensorDescDimV2: null argument");
  if (index >= description->shape.size())
    return set_error(ACL_ERROR_INVALID_PARAM, "aclGetTensorDescDimV2: index " + std::to_string(index) +
                                                  " of " + std::to_string(description->shape.size()) +
                                                  " dimensions");
  *size = description->shape[index];
  return ACL_SUCCESS;
}

void aclSetTensorDescName(aclTensorDesc* description, const char* name) {
  if (description) description->name = name ? name : "";
}
aclError aclSetTensorFormat(aclTensorDesc* description, aclFormat format) {
  if (!description) return set_error(ACL_ERROR_INVALID_PARAM, "aclSetTensorFormat: null description");
  description->storage_format = format;
  return ACL_SUCCESS;
}
aclError aclSetTensorShape(aclTensorDesc* description, int rank, const int64_t* shape) {
  if (!description || rank < 0 || (rank > 0 && !shape))
    return set_error(ACL_ERROR_INVALID_PARAM, "aclSetTensorShape: null argument or negative rank");
  description->storage_shape.assign(shape, shape + rank);
  return ACL_SUCCESS;
}
aclError aclSetTensorPlaceMent(aclTensorDesc* description, aclMemType placement) {
  if (!description) return set_error(ACL_ERROR_INVALID_PARAM, "aclSetTensorPlaceMent: null description");
  description->placement = placement;
  return ACL_SUCCESS;
}

aclDataBuffer* aclCreateDataBuffer(void* data, size_t bytes) { return new aclDataBuffer{data, bytes}; }
aclError aclDestroyDataBuffer(const aclDataBuffer* buffer) {
  delete buffer;
  return ACL_SUCCESS;
}

aclopAttr* aclopCreateAttr() { return new aclopAttr; }
void aclopDestroyAttr(const aclopAttr* attribute) { delete attribute; }

aclError aclopSetAttrBool(aclopAttr* attribute, const char* name, uint8_t value) {
  return set_attribute(attribute, name, int64_t{value != 0});
}
aclError aclopSetAttrInt(aclopAttr* attribute, const char* name, int64_t value) {
  return set_attribute(attribute, name, value);
}
aclError aclopSetAttrFloat(aclopAttr* attribute, const char* name, float value) {
  return set_attribute(attribute, name, double{value});
}
aclError aclopSetAttrDataType(aclopAttr* attribute, const char* name, aclDataType value) {
  return set_attribute(attribute, name, static_cast<int64_t>(value));
}
aclError aclopSetAttrString(aclopAttr* attribute, const char* name, const char* value) {
  return set_attribute(attribute, name, std::string(value ? value : ""));
}
aclError aclopSetAttrListInt(aclopAttr* attribute, const char* name, int count, const int64_t* values) {
  return set_list<int64_t>(attribute, name, count, values);
}
aclError aclopSetAttrListFloat(aclopAttr* attribute, const char* name, int count, const float* values) {
  return set_list<double>(attribute, name, count, values);
}
aclError aclopSetAttrListBool(aclopAttr* attribute, const char* name, int count, const uint8_t* values) {
  return set_list<int64_t>(attribute, name, count, values);
}
aclError aclopSetAttrListListInt(aclopAttr* attribute, const char* name, int count, const int* lengths,
                                 const int64_t* const values[]) {
  if (count < 0 || (count > 0 && (!lengths || !values)))
    return set_error(ACL_ERROR_INVALID_PARAM,
                     "aclopSetAttrListListInt: the list is null or its length negative");
  std::vector<std::vector<int64_t>> lists;
  for (int i = 0; i < count; i++) lists.emplace_back(values[i], values[i] + lengths[i]);
  return set_attribute(attribute, name, std::move(lists));
}

}  // extern "C"
