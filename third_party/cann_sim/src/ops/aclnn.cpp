// The operators that torch_npu 2.13 sends through libopapi.so only: it has no other way for the gradient of a
// matrix product, attention, a stable sort, the sign bit and a choice between different types. Each is a pair
// of functions; the first checks and plans, the second submits. All other aclnn functions are missing on
// purpose: torch_npu then calls aclopCompileAndExecute (engine.cpp).
#include <algorithm>
#include <cstring>

#include "ops/aclnn_objects.h"
#include "ops/broadcast.h"
#include "ops/engine.h"
#include "ops/registry.h"
#include "ops/strided.h"
#include "runtime/errors.h"
#include "runtime/runtime.h"

namespace cann_sim::ops {
namespace {

// An operand that may be strided: operators compute on contiguous elements, so others pass through a copy.
struct View {
  Strided array;
  Shape shape;
  size_t width;
  Tensor tensor;  // what the operator sees

  explicit View(const aclTensor& t)
      : array{static_cast<std::byte*>(t.data), t.offset, t.strides}, shape(t.shape) {
    width = element_bytes(t.type);
    if (width == 0)
      throw InvalidCall("data type " + std::to_string(t.type) + " is not supported",
                        ACL_ERROR_UNSUPPORTED_DATA_TYPE);
    tensor.type = t.type;
    tensor.shape = t.shape;
    if (direct()) {
      tensor.data = array.data + array.offset * static_cast<int64_t>(width);
    } else {
      tensor.constant = std::make_shared<std::vector<std::byte>>(tensor.bytes());
      tensor.data = tensor.constant->data();
    }
    tensor.buffer_bytes = tensor.bytes();
  }

  bool direct() const {
    int64_t expected = 1;
    for (size_t d = shape.size(); d-- > 0; expected *= shape[d])
      if (shape[d] != 1 && array.strides[d] != expected) return false;
    return true;
  }
  void read() const {
    if (!direct()) copy_strided({tensor.data, 0, contiguous_strides(shape)}, array, shape, width);
  }
  void write() const {
    if (!direct()) copy_strided(array, {tensor.data, 0, contiguous_strides(shape)}, shape, width);
  }
  // The memory from the first to the last element.
  void add_range(std::vector<Range>& ranges) const {
    int64_t last = 1;
    for (size_t d = 0; d < shape.size(); d++) last += (shape[d] - 1) * array.strides[d];
    if (tensor.count() > 0)
      ranges.push_back(range_of(array.data + array.offset * static_cast<int64_t>(width),
                                static_cast<size_t>(last) * width));
  }
};

struct Operands {
  std::vector<const aclTensor*> inputs, outputs;  // those that are null are left out
  aclopAttr attributes;
};

// Plans the operator `type` and puts what runs it into `executor`. `adjust` may change the call's shapes
// first.
template <class Adjust>
aclError prepare(const char* api, const char* type, const Operands& operands, uint64_t* workspace,
                 aclOpExecutor** executor, Adjust adjust) {
  if (!workspace || !executor)
    return set_error(ACL_ERROR_INVALID_PARAM, std::string(api) + "GetWorkspaceSize: null argument");
  try {
    std::vector<View> inputs, outputs;
    auto call = std::make_shared<Call>();
    call->type = type;
    call->attributes = Attributes(&operands.attributes);
    for (const aclTensor* t : operands.inputs)
      if (t) call->inputs.push_back(inputs.emplace_back(*t).tensor);
    for (const aclTensor* t : operands.outputs)
      if (t) call->outputs.push_back(outputs.emplace_back(*t).tensor);
    adjust(*call);
    auto plan = std::make_shared<const Plan>(registry().find(type)(call));
    *workspace = 0;
    *executor = new aclOpExecutor{[call, plan, inputs, outputs](aclrtStream stream) {
      Task task;
      task.kind = TaskKind::Operator;
      task.name = call->type;
      task.blocks = blocks_of(*call);
      task.run = [call, plan, inputs, outputs] {
        std::vector<Range> reads, writes;
        for (const View& v : inputs) v.add_range(reads), v.read();
        plan->compute();
        for (const View& v : outputs) v.add_range(writes), v.write();
        return traffic(std::move(reads), std::move(writes), plan->compute_ns);
      };
      return runtime().submit(stream, std::move(task));
    }};
    return ACL_SUCCESS;
  } catch (const InvalidCall& error) {
    return set_error(error.code(), std::string("operator ") + api + ": " + error.what());
  }
}

aclError run(const char* api, aclOpExecutor* executor, aclrtStream stream) {
  if (!executor) return set_error(ACL_ERROR_INVALID_PARAM, std::string(api) + ": the executor is null");
  const aclError error = executor->run(stream);
  delete executor;
  return error;
}

// A vector is one row on the left and one column on the right.
void as_matrices(Call& call) {
  Shape &a = call.inputs.at(0).shape, &b = call.inputs.at(1).shape, &out = call.outputs.at(0).shape;
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  if (row) out.insert(out.end() - (column ? 0 : std::min<size_t>(1, out.size())), 1);
  if (column) out.push_back(1);
}

}  // namespace
}  // namespace cann_sim::ops

using namespace cann_sim;

extern "C" {

// The last argument but two asks for a precision: every product here is summed in float.
aclError aclnnMatmulGetWorkspaceSize(const aclTensor* self, const aclTensor* other, const aclTensor* out,
                                     int8_t, uint64_t* workspace, aclOpExecutor** executor) {
  if (!self || !other || !out) return set_error(ACL_ERROR_INVALID_PARAM, "aclnnMatmul: a tensor is null");
  const bool batched = self->shape.size() > 2 || other->shape.size() > 2;
  return ops::prepare("aclnnMatmul", batched ? "BatchMatMulV2" : "MatMulV2", {{self, other}, {out}, {}},
                      workspace, executor, ops::as_matrices);
}
aclError aclnnMatmul(void*, uint64_t, aclOpExecutor* executor, aclrtStream stream) {
  return ops::run("aclnnMatmul", executor, stream);
}

aclError aclnnFlashAttentionScoreGetWorkspaceSize(
    const aclTensor* query, const aclTensor* key, const aclTensor* value, const aclTensor* shift,
    const aclTensor* drop_mask, const aclTensor* padding_mask, const aclTensor* mask, const aclIntArray*,
    double scale, double keep_probability, int64_t before, int64_t after, int64_t heads, char* layout,
    int64_t, int64_t sparse_mode, const aclTensor* largest, const aclTensor* sums, const aclTensor*,
    const aclTensor* out, uint64_t* workspace, aclOpExecutor** executor) {
  if (!query || !key || !value || !largest || !sums || !out || !layout)
    return set_error(ACL_ERROR_INVALID_PARAM, "aclnnFlashAttentionScore: an argument is null");
  if (shift || drop_mask || padding_mask || keep_probability < 1)
    return set_error(
        ACL_ERROR_INVALID_PARAM,
        "operator aclnnFlashAttentionScore: position encodings, padding masks and dropout are not "
        "implemented by the simulated CANN");
  aclopAttr attributes;
  attributes.values = {
      {"scale", scale},    {"before", before},           {"after", after},
      {"head_num", heads}, {"sparse_mode", sparse_mode}, {"input_layout", std::string(layout)}};
  return ops::prepare("aclnnFlashAttentionScore", "FlashAttentionScore",
                      {{query, key, value, mask}, {out, largest, sums}, attributes}, workspace, executor,
                      [](ops::Call&) {});
}
aclError aclnnFlashAttentionScore(void*, uint64_t, aclOpExecutor* executor, aclrtStream stream) {
  return ops::run("aclnnFlashAttentionScore", executor, stream);
}

// Every sort here is stable, so `stable` says nothing.
aclError aclnnSortGetWorkspaceSize(const aclTensor* self, bool, int64_t dim, bool descending,
                                   const aclTensor* values, const aclTensor* indices, uint64_t* workspace,
                                   aclOpExecutor** executor) {
  if (!self || !values || !indices) return set_error(ACL_ERROR_INVALID_PARAM, "aclnnSort: a tensor is null");
  aclopAttr attributes;
  attributes.values = {{"axis", dim}, {"descending", int64_t{descending}}};
  return ops::prepare("aclnnSort", "Sort", {{self}, {values, indices}, attributes}, workspace, executor,
                      [](ops::Call&) {});
}
aclError aclnnSort(void*, uint64_t, aclOpExecutor* executor, aclrtStream stream) {
  return ops::run("aclnnSort", executor, stream);
}

aclError aclnnSignbitGetWorkspaceSize(const aclTensor* self, const aclTensor* out, uint64_t* workspace,
                                      aclOpExecutor** executor) {
  if (!self || !out) return set_error(ACL_ERROR_INVALID_PARAM, "aclnnSignbit: a tensor is null");
  return ops::prepare("aclnnSignbit", "Signbit", {{self}, {out}, {}}, workspace, executor, [](ops::Call&) {});
}
aclError aclnnSignbit(void*, uint64_t, aclOpExecutor* executor, aclrtStream stream) {
  return ops::run("aclnnSignbit", executor, stream);
}

// Unlike those of Select, the operands may differ in type from the output.
aclError aclnnSWhereGetWorkspaceSize(const aclTensor* condition, const aclTensor* self,
                                     const aclTensor* other, const aclTensor* out, uint64_t* workspace,
                                     aclOpExecutor** executor) {
  if (!condition || !self || !other || !out)
    return set_error(ACL_ERROR_INVALID_PARAM, "aclnnSWhere: a tensor is null");
  aclopAttr attributes;
  attributes.values = {{"convert", int64_t{1}}};
  return ops::prepare("aclnnSWhere", "SelectV2", {{condition, self, other}, {out}, attributes}, workspace,
                      executor, [](ops::Call&) {});
}
aclError aclnnSWhere(void*, uint64_t, aclOpExecutor* executor, aclrtStream stream) {
  return ops::run("aclnnSWhere", executor, stream);
}

}  // extern "C"
