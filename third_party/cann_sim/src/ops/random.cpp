// Random numbers from a counter: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011).
//
// Element i is made of 32-bit word i % 4 of the block whose 128-bit counter is (counter input, low and high
// half) + i / 4, under the 64-bit key input. torch_npu derives key and counter from its seeded generator, so
// torch.manual_seed decides every number, on any number of threads. A normal pair (Box-Muller) takes the
// words 0, 1 or 2, 3 of a block. The numbers are not those of a device.
#include <array>
#include <cmath>

#include "ops/map.h"
#include "ops/registry.h"

namespace cann_sim::ops {
namespace {

class Philox {
 public:
  Philox(uint64_t key, uint64_t low, uint64_t high) : key_(key), low_(low), high_(high) {}

  std::array<uint32_t, 4> block(uint64_t index) const {
    const uint64_t low = low_ + index, high = high_ + (low < low_);
    std::array<uint32_t, 4> x{uint32_t(low), uint32_t(low >> 32), uint32_t(high), uint32_t(high >> 32)};
    uint32_t k0 = uint32_t(key_), k1 = uint32_t(key_ >> 32);
    for (int round = 0; round < 10; round++) {
      const uint64_t a = uint64_t{0xD2511F53} * x[0], b = uint64_t{0xCD9E8D57} * x[2];
      x = {uint32_t(b >> 32) ^ x[1] ^ k0, uint32_t(b), uint32_t(a >> 32) ^ x[3] ^ k1, uint32_t(a)};
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    return x;
  }

 private:
  uint64_t key_, low_, high_;
};

// (shape, key, counter, algorithm)
Philox generator_of(const Call& call) {
  const auto key = integers_of(call.input(1)), counter = integers_of(call.input(2));
  if (key.size() != 1 || counter.size() != 2)
    throw InvalidCall("a key of 1 and a counter of 2 values are expected, not " + std::to_string(key.size()) +
                      " and " + std::to_string(counter.size()));
  if (integers_of(call.input(0)) != call.output(0).shape)
    throw InvalidCall("the shape input is not the output's shape " + text_of(call.output(0).shape));
  return {uint64_t(key[0]), uint64_t(counter[0]), uint64_t(counter[1])};
}

void check_float(const Tensor& tensor) {
  if (arithmetic_of(tensor.type) == Arithmetic::Integer)
    throw InvalidCall(std::string("only floating-point outputs are supported, not ") + type_name(tensor.type),
                      ACL_ERROR_UNSUPPORTED_DATA_TYPE);
}

// Bits of a uniform number: as many as the type has, so that rounding never reaches 1.
int uniform_bits(aclDataType type) { return type == ACL_BF16 ? 8 : type == ACL_FLOAT16 ? 11 : 24; }

// Fills the output with four numbers per block.
template <class F>
Plan generate(const std::shared_ptr<const Call>& call, F four) {
  const Philox philox = generator_of(*call);
  check_float(call->output(0));
  Plan plan;
  plan.compute = [call, philox, four] {
    const Tensor& out = call->outputs[0];
    double block[kBlock];
    for (int64_t at = 0; at < out.count(); at += kBlock) {
      const int64_t n = std::min(kBlock, out.count() - at);
      for (int64_t i = 0; i < n; i += 4) four(philox.block(static_cast<uint64_t>(at + i) / 4), block + i);
      store(out.type, out.data, at, n, block);
    }
  };
  return plan;
}
static_assert(kBlock % 4 == 0);

// Evenly from [0, 1).
Plan plan_uniform(const std::shared_ptr<const Call>& call) {
  const int bits = uniform_bits(call->output(0).type);
  return generate(call, [bits](const std::array<uint32_t, 4>& words, double* out) {
    for (int k = 0; k < 4; k++) out[k] = std::ldexp(static_cast<double>(words[k] >> (32 - bits)), -bits);
  });
}

// Mean 0, standard deviation 1.
Plan plan_normal(const std::shared_ptr<const Call>& call) {
  return generate(call, [](const std::array<uint32_t, 4>& words, double* out) {
    for (int k = 0; k < 4; k += 2) {
      const double u = (words[k] + 1.0) * 0x1p-32, angle = words[k + 1] * (0x1p-31 * M_PI);
      const double radius = std::sqrt(-2 * std::log(u));
      out[k] = radius * std::cos(angle);
      out[k + 1] = radius * std::sin(angle);
    }
  });
}

// Whether a trial with this probability succeeds: decided by 24 bits.
bool happens(uint32_t word, double probability) {
  return std::ldexp(static_cast<double>(word >> 8), -24) < probability;
}

// (shape, probabilities, seed, offset): 1 with the probability, which may be one for all elements.
Plan plan_bernoulli(const std::shared_ptr<const Call>& call) {
  const Philox philox(uint64_t(integer_of(call->input(2))), uint64_t(integer_of(call->input(3))), 0);
  check_broadcast(call->input(1).shape, call->output(0).shape);
  if (call->input(1).count() != 1 && call->input(1).count() != call->output(0).count())
    throw InvalidCall("one probability, or one for each element, is expected");
  Plan plan;
  plan.compute = [call, philox] {
    const auto chances = read_all<double>(call->inputs[1]);
    std::vector<int64_t> trials(static_cast<size_t>(call->outputs[0].count()));
    for (size_t i = 0; i < trials.size(); i++)
      trials[i] = happens(philox.block(i / 4)[i % 4], chances[chances.size() == 1 ? 0 : i]);
    write_all(call->outputs[0], trials);
  };
  return plan;
}

// (shape, probability to keep, seed, second seed, offset) -> one bit for each element, lowest first
Plan plan_dropout_mask(const std::shared_ptr<const Call>& call) {
  const auto shape = integers_of(call->input(0)), offset = integers_of(call->input(4));
  const double keep = number_of(call->input(1));
  const Philox philox(uint64_t(integer_of(call->input(2))) ^ uint64_t(integer_of(call->input(3))) << 32,
                      uint64_t(offset.at(0)), offset.size() > 1 ? uint64_t(offset[1]) : 0);
  const int64_t count = count_of(shape);
  if (call->output(0).type != ACL_UINT8 || call->output(0).count() * 8 < count)
    throw InvalidCall("the output must hold a bit for each of " + std::to_string(count) + " elements");
  Plan plan;
  plan.compute = [call, philox, keep, count] {
    std::vector<int64_t> bytes(static_cast<size_t>(call->outputs[0].count()), 0);
    for (int64_t i = 0; i < count; i++)
      bytes[i / 8] |= int64_t{happens(philox.block(uint64_t(i) / 4)[i % 4], keep)} << i % 8;
    write_all(call->outputs[0], bytes);
  };
  return plan;
}

// (x, mask, probability to keep): x / probability where the mask's bit is set, else 0
Plan plan_dropout(const std::shared_ptr<const Call>& call) {
  check_float(call->input(0));
  const double keep = number_of(call->input(2));
  if (call->input(1).count() * 8 < call->input(0).count() ||
      call->output(0).count() != call->input(0).count())
    throw InvalidCall("the mask or the output does not fit " + text_of(call->input(0).shape));
  Plan plan;
  plan.compute = [call, keep] {
    auto all = read_all<double>(call->inputs[0]);
    const auto bytes = read_all<int64_t>(call->inputs[1]);
    for (size_t i = 0; i < all.size(); i++) all[i] = bytes[i / 8] >> i % 8 & 1 ? all[i] / keep : 0;
    write_all(call->outputs[0], all);
  };
  return plan;
}

// (n, seed, offset): the numbers 0 .. n - 1 in random order (Fisher-Yates).
Plan plan_permutation(const std::shared_ptr<const Call>& call) {
  const int64_t n = integer_of(call->input(0));
  const Philox philox(uint64_t(integer_of(call->input(1))), uint64_t(integer_of(call->input(2))), 0);
  if (call->output(0).count() != n)
    throw InvalidCall("output shape " + text_of(call->output(0).shape) + " for " + std::to_string(n) +
                      " numbers");
  Plan plan;
  plan.compute = [call, n, philox] {
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
      const auto words = philox.block(static_cast<uint64_t>(i));
      std::swap(order[i], order[(uint64_t{words[0]} << 32 | words[1]) % static_cast<uint64_t>(i + 1)]);
    }
    const Tensor& out = call->outputs[0];
    store(out.type, out.data, 0, n, order.data());
  };
  return plan;
}

}  // namespace

void add_random(Registry& r) {
  r.add("StatelessRandomUniformV2", plan_uniform);
  r.add("StatelessRandomNormalV2", plan_normal);
  r.add("StatelessBernoulli", plan_bernoulli);
  r.add("StatelessDropOutGenMask", plan_dropout_mask);
  r.add("DropOutDoMask", plan_dropout);
  r.add("StatelessRandperm", plan_permutation);
}

}  // namespace cann_sim::ops
