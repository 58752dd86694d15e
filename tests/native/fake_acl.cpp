// A stand-in for libascendcl.so that a test steers: it logs every call in order, its clock moves only when
// the test says so, and any function can be told to fail. Shares no header with the code under test, as the
// real one does not.
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace {

struct State {
  std::string log;
  double now_ms = 1000;
  std::map<void*, double> recorded_ms;  // by event
  std::map<std::string, int> failures;  // code by function name
  std::string message;
  int synchronize_ms = 0;  // of real time
  std::uintptr_t next_event = 1;
  std::uintptr_t next_handle = 500;
  // Of the gate, whichever kind it is. A broken one may let pass or never release.
  bool held = false, holds = true, releases = true;
  uint64_t value = 0, awaited = 0;
};

std::mutex& lock() {  // a watchdog calls from a thread of its own
  static std::mutex instance;
  return instance;
}

State& state() {
  static State instance;
  return instance;
}

int call(const std::string& name, const std::string& text) {
  const std::lock_guard<std::mutex> guard(lock());
  const auto failure = state().failures.find(name);
  const int code = failure == state().failures.end() ? 0 : failure->second;
  state().log += text + (code ? " failed\n" : "\n");
  return code;
}

std::string text_of(void* handle) { return std::to_string(reinterpret_cast<std::uintptr_t>(handle)); }

}  // namespace

extern "C" {

int aclrtCreateEventExWithFlag(void** event, uint32_t flag) {
  *event = reinterpret_cast<void*>(state().next_event++);
  return call(__func__, "create " + text_of(*event) + " flag " + std::to_string(flag));
}

int aclrtDestroyEvent(void* event) { return call(__func__, "destroy " + text_of(event)); }

int aclrtRecordEvent(void* event, void* stream) {
  state().recorded_ms[event] = state().now_ms;
  return call(__func__, "record " + text_of(event) + " stream " + text_of(stream));
}

int aclrtQueryEventStatus(void*, int* status) {
  *status = state().held ? 0 : 1;
  return call(__func__, "query");
}

int aclrtSynchronizeEvent(void* event) { return call(__func__, "synchronize event " + text_of(event)); }

int aclrtSynchronizeStream(void* stream) {
  std::this_thread::sleep_for(std::chrono::milliseconds(state().synchronize_ms));
  return call(__func__, "synchronize stream " + text_of(stream));
}

int aclrtEventElapsedTime(float* ms, void* start, void* end) {
  *ms = static_cast<float>(state().recorded_ms[end] - state().recorded_ms[start]);
  return call(__func__, "elapsed " + text_of(start) + " " + text_of(end));
}

const char* aclGetRecentErrMsg() { return state().message.empty() ? nullptr : state().message.c_str(); }

int aclrtGetCurrentContext(void** context) {
  static thread_local int context_of_thread;
  *context = &context_of_thread;
  return 0;
}

int aclrtSetCurrentContext(void*) { return call(__func__, "set context"); }

int aclrtCreateStream(void** stream) {
  *stream = reinterpret_cast<void*>(state().next_handle++);
  return call(__func__, "create stream");
}

int aclrtDestroyStream(void*) { return call(__func__, "destroy stream"); }

int aclrtCreateNotify(void** notify, uint64_t flag) {
  *notify = reinterpret_cast<void*>(state().next_handle++);
  return call(__func__, "create notify flag " + std::to_string(flag));
}

int aclrtDestroyNotify(void*) { return call(__func__, "destroy notify"); }

int aclrtWaitAndResetNotify(void*, void* stream, uint32_t timeout_ms) {
  state().held = state().holds;
  return call(__func__, "close stream " + text_of(stream) + " limit " + std::to_string(timeout_ms));
}

int aclrtRecordNotify(void*, void*) {
  if (state().releases) state().held = false;
  return call(__func__, "open");
}

int aclrtMalloc(void** address, size_t bytes, int) {
  *address = reinterpret_cast<void*>(state().next_handle++);
  return call(__func__, "malloc " + std::to_string(bytes));
}

int aclrtFree(void*) { return call(__func__, "free"); }

int aclrtValueWait(void*, uint64_t value, uint32_t, void* stream) {
  state().awaited = value;
  state().held = state().holds && state().value < value;
  return call(__func__, "close stream " + text_of(stream));
}

int aclrtValueWrite(void*, uint64_t value, uint32_t, void*) {
  state().value = value;
  if (state().releases && value >= state().awaited) state().held = false;
  return call(__func__, "write " + std::to_string(value));
}

// Steering, called through ctypes.
void fake_reset() { state() = State{}; }
void fake_note(const char* text) {
  const std::lock_guard<std::mutex> guard(lock());
  state().log += std::string(text) + "\n";
}
void fake_advance(double ms) { state().now_ms += ms; }
void fake_fail(const char* function, int code, const char* message) {
  state().failures[function] = code;
  state().message = message;
}
void fake_gate(int holds, int releases) {
  state().holds = holds != 0;
  state().releases = releases != 0;
}
int fake_held() { return state().held; }
void fake_slow_synchronize(int ms) { state().synchronize_ms = ms; }
const char* fake_log() { return state().log.c_str(); }

}  // extern "C"

#ifdef FAKE_SIMULATOR_VERSION
extern "C" const char* cann_sim_version() { return FAKE_SIMULATOR_VERSION; }
#endif
