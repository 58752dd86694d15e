// aclopCompileAndExecute: the way of every torch operator that has no function in libopapi.so (aclnn.cpp).
//
// A call is checked and planned at once, on the caller's thread; computing is a task of the stream.
#include "ops/engine.h"

#include <acl/acl_op_compiler.h>

#include <algorithm>
#include <cstring>

#include "runtime/costs.h"
#include "runtime/runtime.h"
#include "runtime/soc.h"

namespace cann_sim::ops {
namespace {

Tensor operand(const aclTensorDesc* description, const aclDataBuffer* buffer, bool input) {
  if (!description || !buffer) throw InvalidCall("a tensor description or data buffer is null");
  Tensor tensor;
  tensor.type = description->type;
  tensor.shape = description->shape;
  tensor.name = description->name;
  if (element_bytes(tensor.type) == 0)
    throw InvalidCall("data type " + std::to_string(tensor.type) + " is not supported",
                      ACL_ERROR_UNSUPPORTED_DATA_TYPE);
  for (int64_t size : tensor.shape)
    if (size < 0) throw InvalidCall("shape " + text_of(tensor.shape) + " has a negative size");
  tensor.data = static_cast<std::byte*>(buffer->data);
  tensor.buffer_bytes = buffer->bytes;
  if (tensor.bytes() > buffer->bytes || (tensor.bytes() > 0 && !tensor.data))
    throw InvalidCall("shape " + text_of(tensor.shape) + " of " + type_name(tensor.type) + " needs " +
                      std::to_string(tensor.bytes()) + " bytes, the buffer has " +
                      std::to_string(buffer->bytes));
  if (input && description->placement != ACL_MEMTYPE_DEVICE) {
    tensor.constant = std::make_shared<std::vector<std::byte>>(tensor.data, tensor.data + tensor.bytes());
    tensor.data = tensor.constant->data();
  }
  return tensor;
}

template <class Descriptions, class Buffers>
std::shared_ptr<const Call> read_call(const char* type, int inputs, Descriptions input_descriptions,
                                      Buffers input_buffers, int outputs, Descriptions output_descriptions,
                                      Buffers output_buffers, const aclopAttr* attributes) {
  auto call = std::make_shared<Call>();
  call->type = type;
  call->attributes = Attributes(attributes);
  for (int k = 0; k < inputs; k++)
    call->inputs.push_back(operand(input_descriptions[k], input_buffers[k], true));
  for (int k = 0; k < outputs; k++)
    call->outputs.push_back(operand(output_descriptions[k], output_buffers[k], false));
  return call;
}

std::vector<Range> ranges_of(const std::vector<Tensor>& tensors) {
  std::vector<Range> ranges;
  for (const Tensor& t : tensors)
    if (!t.on_host() && t.bytes() > 0) ranges.push_back(range_of(t.data, t.bytes()));
  return ranges;
}

bool all_zero(const std::vector<Range>& ranges) {
  return std::all_of(ranges.begin(), ranges.end(), [](const Range& r) {
    return runtime().memory().is_zero(reinterpret_cast<const void*>(r.begin), r.end - r.begin);
  });
}

// Runs as the task. The time is that of reading all inputs and writing all outputs, also where knowledge
// about zeros saves the work: the simulator's short cuts must not show in virtual time.
Effect execute(const Call& call, const Plan& plan) {
  std::vector<Range> reads = ranges_of(call.inputs), writes = ranges_of(call.outputs);
  if (plan.clears) return zero_traffic(std::move(writes));
  const bool zeros = plan.keeps_zero && !reads.empty() && all_zero(reads);
  if (!zeros) plan.compute();
  Effect effect = traffic(std::move(reads), std::move(writes), plan.compute_ns);
  if (zeros) effect.zeroed = std::move(effect.writes);
  return effect;
}

// Plans and submits; `result_shapes` is set if only execution decides the outputs' shapes.
aclError launch(const std::shared_ptr<const Call>& call, aclrtStream stream,
                std::shared_ptr<std::vector<Shape>>* result_shapes) {
  const Operator op = registry().find(call->type);
  if (!op)
    return set_error(
        ACL_ERROR_OP_NOT_FOUND,
        "operator " + call->type + " is not implemented by the simulated CANN (" + call->to_text() + ")");
  std::shared_ptr<const Plan> plan;
  try {
    plan = std::make_shared<const Plan>(op(call));
  } catch (const InvalidCall& error) {
    throw InvalidCall(std::string(error.what()) + " (" + call->to_text() + ")", error.code());
  }
  *result_shapes = plan->result_shapes;
  Task task;
  task.kind = TaskKind::Operator;
  task.name = call->type;
  task.blocks = blocks_of(*call);
  task.run = [call, plan] { return execute(*call, *plan); };
  return runtime().submit(stream, std::move(task));
}

// Runs `body`, which returns an aclError, and turns exceptions into one with a message that names the
// operator.
template <class Body>
aclError guarded(const char* type, Body body) {
  if (!type) return set_error(ACL_ERROR_INVALID_PARAM, "aclopCompileAndExecute: the operator's type is null");
  try {
    return body();
  } catch (const InvalidCall& error) {
    return set_error(error.code(), std::string("operator ") + type + ": " + error.what());
  } catch (const std::exception& error) {
    return set_error(ACL_ERROR_INTERNAL_ERROR, std::string("operator ") + type + ": " + error.what());
  }
}

}  // namespace

// Vector cores that share the work: at least 32 KiB of output for each, a plausible tile of a core's 192 KiB
// buffer.
uint32_t blocks_of(const Call& call) {
  size_t bytes = 0;
  for (const Tensor& t : call.outputs) bytes += t.bytes();
  for (const Tensor& t : call.inputs) bytes = std::max(bytes, t.bytes());
  return static_cast<uint32_t>(std::clamp<size_t>(bytes / (32 << 10), 1, soc().machine.vector_cores));
}

}  // namespace cann_sim::ops

using namespace cann_sim;

extern "C" {

aclError aclopCompileAndExecute(const char* type, int inputs, const aclTensorDesc* const input_descriptions[],
                                const aclDataBuffer* const input_buffers[], int outputs,
                                const aclTensorDesc* const output_descriptions[],
                                aclDataBuffer* const output_buffers[], const aclopAttr* attributes,
                                aclopEngineType, aclopCompileType, const char*, aclrtStream stream) {
  return ops::guarded(type, [&] {
    const auto call =
        ops::read_call(type, inputs, input_descriptions, input_buffers, outputs, output_descriptions,
                       const_cast<const aclDataBuffer* const*>(output_buffers), attributes);
    std::shared_ptr<std::vector<ops::Shape>> result_shapes;
    return ops::launch(call, stream, &result_shapes);
  });
}

// The form for outputs whose shape depends on values: it waits, and puts the shape into the output's
// description.
aclError aclopCompileAndExecuteV2(const char* type, int inputs, aclTensorDesc* input_descriptions[],
                                  aclDataBuffer* input_buffers[], int outputs,
                                  aclTensorDesc* output_descriptions[], aclDataBuffer* output_buffers[],
                                  aclopAttr* attributes, aclopEngineType, aclopCompileType, const char*,
                                  aclrtStream stream) {
  return ops::guarded(type, [&] {
    const auto call = ops::read_call(type, inputs, input_descriptions, input_buffers, outputs,
                                     output_descriptions, output_buffers, attributes);
    std::shared_ptr<std::vector<ops::Shape>> result_shapes;
    if (aclError error = ops::launch(call, stream, &result_shapes)) return error;
    if (!result_shapes) return aclError{ACL_SUCCESS};
    if (aclError error = runtime().synchronize(stream)) return error;
    for (size_t k = 0; k < result_shapes->size(); k++) output_descriptions[k]->shape = (*result_shapes)[k];
    return aclError{ACL_SUCCESS};
  });
}

}  // extern "C"
