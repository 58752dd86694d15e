#include "ops/map.h"

namespace cann_sim::ops {
namespace {

// Elements of `tensor` from `offset` on, `stride` 1, or 0: one element repeated.
template <class C>
void load_run(const Tensor& tensor, int64_t offset, int64_t stride, int64_t n, C* values) {
  if (stride == 0) {
    load(tensor.type, tensor.data, offset, 1, values);
    std::fill_n(values + 1, n - 1, values[0]);
  } else {
    load(tensor.type, tensor.data, offset, n, values);
  }
}

}  // namespace

template <class C, class R, size_t N>
void map_blocks(const std::array<const Tensor*, N>& inputs, const Tensor& output, const Body<C, R, N>& body) {
  std::array<Shape, N + 1> strides;
  for (size_t k = 0; k < N; k++) strides[k] = broadcast_strides(inputs[k]->shape, output.shape);
  strides[N] = contiguous_strides(output.shape);
  const Nest<N + 1> nest(output.shape, strides);
  C storage[N][kBlock];
  R results[kBlock];
  std::array<C*, N> values;
  for (size_t k = 0; k < N; k++) values[k] = storage[k];
  nest.each([&](const std::array<int64_t, N + 1>& offsets, int64_t length) {
    for (int64_t at = 0; at < length; at += kBlock) {
      const int64_t n = std::min(kBlock, length - at);
      for (size_t k = 0; k < N; k++) {
        const int64_t stride = nest.inner_stride(k);
        load_run(*inputs[k], offsets[k] + at * stride, stride, n, values[k]);
      }
      body(values, results, n);
      store(output.type, output.data, offsets[N] + at, n, results);
    }
  });
}

#define INSTANTIATE(C, R, N) \
  template void map_blocks<C, R, N>(const std::array<const Tensor*, N>&, const Tensor&, const Body<C, R, N>&);
#define INSTANTIATE_ARITHMETICS(N) \
  INSTANTIATE(float, float, N)     \
  INSTANTIATE(double, double, N)   \
  INSTANTIATE(int64_t, int64_t, N) \
  INSTANTIATE(float, int64_t, N)   \
  INSTANTIATE(double, int64_t, N)
INSTANTIATE_ARITHMETICS(1)
INSTANTIATE_ARITHMETICS(2)
INSTANTIATE_ARITHMETICS(3)
INSTANTIATE_ARITHMETICS(4)
INSTANTIATE_ARITHMETICS(5)

}  // namespace cann_sim::ops
