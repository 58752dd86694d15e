// Attention: softmax(scale * query key^T) value, computed in float; sums in double.
#include <cmath>
#include <limits>

#include "ops/broadcast.h"
#include "ops/convert.h"
#include "ops/linear.h"
#include "ops/registry.h"

namespace cann_sim::ops {
namespace {

// Where the rows of a head are: element (batch, head, position) begins at batch * step[0] + head * step[1] +
// position * step[2].
struct Layout {
  int64_t batches, heads, length, width, step[3];
};

Layout layout_of(const std::string& name, const Shape& s, int64_t heads) {
  if (name == "BNSD" && s.size() == 4)
    return {s[0], s[1], s[2], s[3], {s[1] * s[2] * s[3], s[2] * s[3], s[3]}};
  if (name == "BSND" && s.size() == 4)
    return {s[0], s[2], s[1], s[3], {s[1] * s[2] * s[3], s[3], s[2] * s[3]}};
  if (name == "BSH" && s.size() == 3 && heads > 0 && s[2] % heads == 0)
    return {s[0], heads, s[1], s[2] / heads, {s[1] * s[2], s[2] / heads, s[2]}};
  if (name == "SBH" && s.size() == 3 && heads > 0 && s[2] % heads == 0)
    return {s[1], heads, s[0], s[2] / heads, {s[2], s[2] / heads, s[1] * s[2]}};
  throw InvalidCall("a tensor of shape " + text_of(s) + " with layout " + name + " and " +
                    std::to_string(heads) + " heads is not supported");
}

// Which keys a query may see: the sparse_mode of npu_fusion_attention.
class Window {
 public:
  Window(const Call& call, int64_t queries, int64_t keys, bool masked) {
    constexpr int64_t kAll = std::numeric_limits<int32_t>::max();
    const int64_t mode = call.attributes.integer("sparse_mode", 0);
    before_ = call.attributes.integer("before", kAll), after_ = call.attributes.integer("after", kAll);
    if (mode == 1 || (mode == 0 && !masked)) before_ = after_ = kAll;
    if (mode == 2 || mode == 3) before_ = kAll, after_ = 0;
    if (mode == 3 || mode == 4) shift_ = keys - queries;  // aligned at the last query
    if (mode < 0 || mode > 4) throw InvalidCall("sparse_mode must be 0 to 4, not " + std::to_string(mode));
    uses_mask_ = mode <= 1;
  }
  bool sees(int64_t query, int64_t key) const {
    return key >= query + shift_ - before_ && key <= query + shift_ + after_;
  }
  // In the other modes the mask is a template of the mode itself.
  bool uses_mask() const { return uses_mask_; }

 private:
  int64_t before_ = 0, after_ = 0, shift_ = 0;
  bool uses_mask_ = true;
};

std::vector<float> head_of(const std::vector<float>& all, const Layout& l, int64_t batch, int64_t head) {
  std::vector<float> rows(static_cast<size_t>(l.length * l.width));
  for (int64_t i = 0; i < l.length; i++)
    std::copy_n(&all[batch * l.step[0] + head * l.step[1] + i * l.step[2]], l.width, &rows[i * l.width]);
  return rows;
}

// (query, key, value, mask of what is hidden) -> (result, largest score of each row, sum of its
// exponentials); the last two, batch x heads x rows x 8, repeat each number eight times.
Plan plan_attention(const std::shared_ptr<const Call>& call) {
  const Attributes& a = call->attributes;
  const std::string name = a.text("input_layout", "BSH");
  const int64_t heads = a.integer("head_num", 1);
  const Layout q = layout_of(name, call->input(0).shape, heads);
  int64_t key_heads = heads;  // several heads of the query may share one of the keys
  if (call->input(1).shape.size() == 3 && q.width > 0) key_heads = call->input(1).shape[2] / q.width;
  const Layout k = layout_of(name, call->input(1).shape, key_heads);
  if (call->input(2).shape != call->input(1).shape || call->output(0).shape != call->input(0).shape ||
      k.batches != q.batches || k.width != q.width || k.heads < 1 || q.heads % k.heads != 0)
    throw InvalidCall("query " + text_of(call->input(0).shape) + ", key " + text_of(call->input(1).shape) +
                          " and value " + text_of(call->input(2).shape) + " do not fit",
                      ACL_ERROR_OP_INPUT_NOT_MATCH);
  for (size_t i = 1; i < 3; i++)
    if (call->output(i).count() != q.batches * q.heads * q.length * 8)
      throw InvalidCall("output shape " + text_of(call->output(i).shape) + " does not fit");
  const bool masked = call->inputs.size() > 3;
  const Window window(*call, q.length, k.length, masked);
  const bool by_mask = masked && window.uses_mask();
  const Shape scores{q.batches, q.heads, q.length, k.length};
  if (by_mask) check_broadcast(call->input(3).shape, scores);
  const auto scale = static_cast<float>(a.number("scale", 1));
  Plan plan;
  plan.compute_ns = 2 * product_ns(call->input(0).type, double(q.batches * q.heads * q.length),
                                   double(k.length), double(q.width));
  plan.compute = [call, q, k, window, by_mask, scores, scale] {
    const auto queries = read_all<float>(call->inputs[0]), keys = read_all<float>(call->inputs[1]),
               values = read_all<float>(call->inputs[2]);
    std::vector<int64_t> hidden;
    Shape mask_steps(4, 0);
    if (by_mask) {
      hidden = read_all<int64_t>(call->inputs[3]);
      mask_steps = broadcast_strides(call->inputs[3].shape, scores);
    }
    std::vector<float> result(queries.size(), 0), largest, sums;
    for (int64_t b = 0; b < q.batches; b++)
      for (int64_t h = 0; h < q.heads; h++) {
        const int64_t own = h / (q.heads / k.heads);
        const auto left = head_of(queries, q, b, h), right = head_of(keys, k, b, own),
                   v = head_of(values, k, b, own);
        const auto turned = oriented(right.data(), k.width, k.length, true);
        std::vector<float> weights(static_cast<size_t>(q.length * k.length), 0), out(left.size(), 0);
        multiply(left.data(), turned.data(), weights.data(), q.length, k.length, q.width);
        for (int64_t i = 0; i < q.length; i++) {
          float* row = &weights[i * k.length];
          auto visible = [&](int64_t j) {
            return window.sees(i, j) &&
                   !(by_mask &&
                     hidden[b * mask_steps[0] + h * mask_steps[1] + i * mask_steps[2] + j * mask_steps[3]]);
          };
          float high = -std::numeric_limits<float>::infinity();
          for (int64_t j = 0; j < k.length; j++) {
            row[j] = visible(j) ? row[j] * scale : -std::numeric_limits<float>::infinity();
            high = std::max(high, row[j]);
          }
          double sum = 0;
          for (int64_t j = 0; j < k.length; j++) {
            row[j] = std::isinf(high) && high < 0 ? 0 : std::exp(row[j] - high);
            sum += row[j];
          }
          for (int64_t j = 0; j < k.length && sum > 0; j++) row[j] = static_cast<float>(row[j] / sum);
          largest.insert(largest.end(), 8, high);
          sums.insert(sums.end(), 8, static_cast<float>(sum));
        }
        multiply(weights.data(), v.data(), out.data(), q.length, q.width, k.length);
        for (int64_t i = 0; i < q.length; i++)
          std::copy_n(&out[i * q.width], q.width, &result[b * q.step[0] + h * q.step[1] + i * q.step[2]]);
      }
    write_all(call->outputs[0], result);
    write_all(call->outputs[1], largest);
    write_all(call->outputs[2], sums);
  };
  return plan;
}

}  // namespace

void add_attention(Registry& r) { r.add("FlashAttentionScore", plan_attention); }

}  // namespace cann_sim::ops
