// Convolution, computed directly: sums in double, rounded once.
#include "ops/convert.h"
#include "ops/registry.h"

namespace cann_sim::ops {
namespace {

struct Geometry {
  int64_t groups, stride[2], dilation[2], pad[2];  // height, width; pad at the top and on the left
};

Geometry geometry_of(const Call& call) {
  if (call.attributes.text("data_format", "NCHW") != "NCHW") throw InvalidCall("only NCHW is supported");
  const auto strides = call.attributes.integers("strides", {1, 1, 1, 1}),
             dilations = call.attributes.integers("dilations", {1, 1, 1, 1}),
             pads = call.attributes.integers("pads", {0, 0, 0, 0});
  if (strides.size() != 4 || dilations.size() != 4 || pads.size() != 4)
    throw InvalidCall("strides, dilations and pads need four values each");
  return {call.attributes.integer("groups", 1),
          {strides[2], strides[3]},
          {dilations[2], dilations[3]},
          {pads[0], pads[2]}};
}

// (x, filters, bias): x is items x channels x height x width, filters are output channels x channels of a
// group x height x width.
Plan plan_conv_2d(const std::shared_ptr<const Call>& call) {
  const Shape &x = call->input(0).shape, &filters = call->input(1).shape, &out = call->output(0).shape;
  const Geometry g = geometry_of(*call);
  if (x.size() != 4 || filters.size() != 4 || out.size() != 4 || g.groups < 1 || x[0] != out[0] ||
      filters[0] != out[1] || filters[1] * g.groups != x[1] || filters[0] % g.groups != 0)
    throw InvalidCall("x " + text_of(x) + ", filters " + text_of(filters) + " and output " + text_of(out) +
                          " do not fit with " + std::to_string(g.groups) + " groups",
                      ACL_ERROR_OP_INPUT_NOT_MATCH);
  if (call->inputs.size() > 2 && call->input(2).count() != out[1])
    throw InvalidCall("bias " + text_of(call->input(2).shape) + " does not fit",
                      ACL_ERROR_OP_INPUT_NOT_MATCH);
  Plan plan;
  plan.compute = [call, g] {
    const Shape &in = call->inputs[0].shape, &kernel = call->inputs[1].shape, &to = call->outputs[0].shape;
    const auto values = read_all<double>(call->inputs[0]), weights = read_all<double>(call->inputs[1]);
    const auto bias = call->inputs.size() > 2 ? read_all<double>(call->inputs[2])
                                              : std::vector<double>(static_cast<size_t>(to[1]), 0);
    std::vector<double> result(static_cast<size_t>(call->outputs[0].count()));
    const int64_t per_group = to[1] / g.groups;
    auto one = [&](int64_t item, int64_t channel, int64_t row, int64_t column) {
      double sum = bias[channel];
      for (int64_t c = 0; c < kernel[1]; c++)
        for (int64_t h = 0; h < kernel[2]; h++) {
          const int64_t y = row * g.stride[0] - g.pad[0] + h * g.dilation[0];
          if (y < 0 || y >= in[2]) continue;
          const double* line =
              &values[((item * in[1] + channel / per_group * kernel[1] + c) * in[2] + y) * in[3]];
          const double* factors = &weights[((channel * kernel[1] + c) * kernel[2] + h) * kernel[3]];
          for (int64_t w = 0; w < kernel[3]; w++) {
            const int64_t at = column * g.stride[1] - g.pad[1] + w * g.dilation[1];
            if (at >= 0 && at < in[3]) sum += line[at] * factors[w];
          }
        }
      return sum;
    };
    for (int64_t i = 0; i < call->outputs[0].count(); i++)
      result[i] = one(i / (to[1] * to[2] * to[3]), i / (to[2] * to[3]) % to[1], i / to[3] % to[2], i % to[3]);
    write_all(call->outputs[0], result);
  };
  return plan;
}

}  // namespace

void add_convolution(Registry& r) { r.add("Conv2D", plan_conv_2d); }

}  // namespace cann_sim::ops
