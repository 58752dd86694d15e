#include "profiling/profiler.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "runtime/engine.h"
#include "runtime/faults.h"
#include "runtime/runtime.h"

namespace cann_sim::profiling {
namespace {

using Guard = std::lock_guard<Engine>;

Engine& engine() { return runtime().engine(); }

}  // namespace

Profiler& profiler() {
  static Profiler* const once = new Profiler;
  return *once;
}

Profiler::Profiler() { engine().add_listener(&recorder_); }

aclError Profiler::initialize(const std::string& folder) {
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return set_error(ACL_ERROR_INVALID_FILE, "aclprofInit: folder " + folder + ": " + std::strerror(errno));
  }
  const Guard guard(engine());
  if (!root_.empty()) {
    return set_error(ACL_ERROR_REPEAT_INITIALIZE, "aclprofInit: already initialised with folder " + root_);
  }
  root_ = folder;
  return ACL_SUCCESS;
}

aclError Profiler::finalize() {
  stop();
  const Guard guard(engine());
  root_.clear();
  return ACL_SUCCESS;
}

aclError Profiler::start(const aclprofConfig& config) {
  Session session;
  session.devices.assign(config.devices.begin(), config.devices.end());
  session.switches = config.switches;
  session.metrics = config.metrics;
  session.virtual_ns = engine().host_now();
  stamp(session);
  std::vector<ProfCommandHandle> to_call;
  {
    const Guard guard(engine());
    if (root_.empty()) return set_error(ACL_ERROR_PROF_NOT_RUN, "aclprofStart: aclprofInit was not called");
    if (recorder_.active()) {
      return set_error(ACL_ERROR_PROF_ALREADY_RUN,
                       "aclprofStart: a profile is running; it writes to " + root_);
    }
    try {
      if (!faults().prof_no_data()) make_folder(session, root_);
    } catch (const std::exception& error) {
      return set_error(ACL_ERROR_PROFILING_FAILURE, std::string("aclprofStart: ") + error.what());
    }
    session_ = std::move(session);
    owner_ = getpid();
    recorder_.begin(session_.devices);
    to_call = handlers_;
  }
  notify(to_call, PROF_COMMANDHANDLE_TYPE_START);
  return ACL_SUCCESS;
}

aclError Profiler::stop() {
  std::vector<ProfCommandHandle> to_call;
  {
    const Guard guard(engine());
    if (!recorder_.active()) return set_error(ACL_ERROR_PROF_NOT_RUN, "aclprofStop: no profile is running");
    const std::vector<ProfiledTask> tasks = recorder_.end();
    to_call = handlers_;
    try {
      if (owner_ == getpid()) write_tasks(session_, tasks);
    } catch (const std::exception& error) {
      return set_error(ACL_ERROR_PROFILING_FAILURE, std::string("aclprofStop: ") + error.what());
    }
  }
  notify(to_call, PROF_COMMANDHANDLE_TYPE_STOP);
  return ACL_SUCCESS;
}

// Without the lock: a handler may call back.
void Profiler::notify(const std::vector<ProfCommandHandle>& handlers, MsprofCommandHandleType command) const {
  if (handlers.empty()) return;
  MsprofCommandHandle message{};
  {
    const Guard guard(engine());
    message.profSwitch = session_.switches;
    for (const int32_t device : session_.devices) {
      message.devIdList[message.devNums++] = static_cast<uint32_t>(device);
    }
  }
  message.modelId = UINT32_MAX;
  message.type = command;
  for (const ProfCommandHandle handler : handlers) handler(PROF_CTRL_SWITCH, &message, sizeof message);
}

void Profiler::add_handler(ProfCommandHandle handler) {
  bool late = false;
  {
    const Guard guard(engine());
    if (std::find(handlers_.begin(), handlers_.end(), handler) == handlers_.end())
      handlers_.push_back(handler);
    late = recorder_.active();
  }
  if (late) notify({handler}, PROF_COMMANDHANDLE_TYPE_START);
}

// FNV-1a: the same in every process, unlike std::hash.
uint64_t Profiler::hash(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  const Guard guard(engine());
  texts_.emplace(hash, text);
  return hash;
}

std::string Profiler::text_of(uint64_t hash) const {
  const auto found = texts_.find(hash);
  return found == texts_.end() ? std::to_string(hash) : found->second;
}

void Profiler::report(const MsprofApi& api) {
  if (api.level != MSPROF_REPORT_NODE_LEVEL || api.type != MSPROF_REPORT_NODE_LAUNCH_TYPE) return;
  const Guard guard(engine());
  recorder_.report_launch(api.threadId, static_cast<int64_t>(api.beginTime),
                          static_cast<int64_t>(api.endTime), text_of(api.itemId));
}

void Profiler::report(const MsprofCompactInfo& info) {
  if (info.level != MSPROF_REPORT_NODE_LEVEL || info.type != MSPROF_REPORT_NODE_BASIC_INFO_TYPE) return;
  const MsprofNodeBasicInfo& node = info.data.nodeBasicInfo;
  const Guard guard(engine());
  recorder_.report_node(info.threadId, static_cast<int64_t>(info.timeStamp), text_of(node.opName),
                        text_of(node.opType), static_cast<int>(node.taskType), node.blockDim);
}

void Profiler::report(const MsprofAdditionalInfo& info) {
  if (info.level != MSPROF_REPORT_NODE_LEVEL || info.type != MSPROF_REPORT_NODE_TENSOR_INFO_TYPE) return;
  MsprofTensorInfo reported;
  static_assert(sizeof reported <= sizeof info.data, "it travels in the data field");
  std::memcpy(&reported, info.data, sizeof reported);
  std::vector<TensorInfo> tensors;
  for (uint32_t i = 0; i < reported.tensorNum && i < MSPROF_GE_TENSOR_DATA_NUM; i++) {
    const MsrofTensorData& data = reported.tensorData[i];
    TensorInfo tensor{data.tensorType == MSPROF_GE_TENSOR_TYPE_OUTPUT, data.format, data.dataType, {}};
    for (const uint32_t size : data.shape) {
      if (size == 0) break;  // unused places are zero
      tensor.shape.push_back(size);
    }
    tensors.push_back(std::move(tensor));
  }
  const Guard guard(engine());
  recorder_.report_tensors(info.threadId, static_cast<int64_t>(info.timeStamp), std::move(tensors));
}

}  // namespace cann_sim::profiling
