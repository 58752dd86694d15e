#include "runtime/runtime.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/costs.h"
#include "runtime/device.h"
#include "runtime/engine.h"
#include "runtime/soc.h"
#include "runtime/task_log.h"

namespace cann_sim {
namespace {

double bytes_in(const std::vector<Range>& ranges) {
  double sum = 0;
  for (const Range& r : ranges) sum += static_cast<double>(r.end - r.begin);
  return sum;
}

double hbm_bytes_per_ns() { return soc().machine.hbm_gbs * costs::kHbmShare; }

// fork() must not copy a lock that another thread holds: the child would hang at its first call, even one
// made by a destructor at exit.
void before_fork() {
  runtime().engine().lock();
  runtime().memory().lock();
}
void after_fork() {
  runtime().memory().unlock();
  runtime().engine().unlock();
}

}  // namespace

Runtime::Runtime()
    : memory_(config().devices, config().memory_bytes), engine_(new Engine(config(), memory_)) {
  if (config().task_log.empty()) return;
  log_ = new TaskLog(config().task_log);
  engine_->add_listener(log_);
}

void Runtime::flush_log() {
  if (!log_) return;
  engine_->lock();
  log_->flush();
  engine_->unlock();
}

aclError Runtime::submit(aclrtStream stream, Task task) {
  return engine_->submit(current_device(), stream, std::move(task));
}

aclError Runtime::synchronize(aclrtStream stream) {
  return engine_->synchronize_stream(current_device(), stream, -1);
}

Runtime& runtime() {
  static Runtime* const once = new Runtime;
  static const int hooks =
      pthread_atfork(before_fork, after_fork, after_fork) + std::atexit([] { runtime().flush_log(); });
  (void)hooks;
  return *once;
}

Effect traffic(std::vector<Range> reads, std::vector<Range> writes, double compute_ns) {
  const double read = bytes_in(reads), written = bytes_in(writes);
  Effect effect;
  effect.cold_ns = std::max(compute_ns, (read + written) / hbm_bytes_per_ns());
  effect.warm_ns = std::max(compute_ns, read / costs::kL2BytesPerNs + written / hbm_bytes_per_ns());
  effect.reads = std::move(reads);
  effect.writes = std::move(writes);
  return effect;
}

Effect zero_traffic(std::vector<Range> zeroed) {
  Effect effect;
  effect.cold_ns = effect.warm_ns = bytes_in(zeroed) / hbm_bytes_per_ns();
  effect.zeroed = std::move(zeroed);
  return effect;
}

}  // namespace cann_sim
