#include "profiling/raw_data.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <fstream>
#include <stdexcept>

#include "profiling/ge_names.h"
#include "profiling/operator_names.h"
#include "runtime/config.h"
#include "runtime/faults.h"
#include "runtime/json.h"
#include "runtime/soc.h"

namespace cann_sim::profiling {
namespace {

// profSwitch bits (acl_prof.h): times of tasks; and with what a launcher reports of them.
constexpr uint64_t kTaskTimeLevel0 = 0x800, kTaskTime = 0x2;

int64_t read_clock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}

// torch_npu looks for PROF_<digits>_<digits>_<letters and digits>.
std::string folder_name(int64_t wall_ns) {
  static unsigned count = 0;
  const time_t seconds = wall_ns / 1'000'000'000;
  tm local;
  localtime_r(&seconds, &local);
  char time[32], name[96];
  std::strftime(time, sizeof time, "%Y%m%d%H%M%S", &local);
  std::snprintf(name, sizeof name, "PROF_%06u_%s%03d_SIM%d", ++count, time,
                static_cast<int>(wall_ns / 1'000'000 % 1000), static_cast<int>(getpid()));
  return name;
}

void make_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0750) != 0) throw std::runtime_error(path + ": " + std::strerror(errno));
}

// Writes all of it or throws.
void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::runtime_error(path + " cannot be written");
  chmod(path.c_str(), 0640);
}

bool is_row(const ProfiledTask& task) {  // a row of op_summary
  return task.record.kind == TaskKind::Kernel || task.record.kind == TaskKind::Operator;
}

struct Row {
  std::string name, type, core;
  uint32_t blocks = 0, mix_blocks = 0;
  int64_t call_ns = 0;
};

Row row_of(const Session& session, const ProfiledTask& task) {
  const TaskRecord& r = task.record;
  Row row{r.name, "N/A", "N/A", r.blocks, 0, task.call_ns};
  if (r.kind == TaskKind::Operator) {
    row = {operator_row_name(r.name),
           r.name,
           is_cube_operator(r.name) ? "AI_CORE" : "AI_VECTOR_CORE",
           r.blocks,
           0,
           config().host_launch_ns};
  } else if (r.kind == TaskKind::Kernel) {
    const bool cube = r.pipe_busy_ns[static_cast<int>(hivm::Pipe::M)] > 0;
    row.core = cube ? "AI_CORE" : "AI_VECTOR_CORE";  // what the device knows itself
    if (!task.name.empty()) row.name = task.name;
    if (task.core >= 0) {
      row.type = task.type;
      row.core = core_name(static_cast<uint32_t>(task.core));
      row.blocks = task.block_dim & 0xffff;
      row.mix_blocks = row.blocks * (task.block_dim >> 16);
    }
  }
  if (!(session.switches & kTaskTime)) row.type = "N/A";  // Level0
  return row;
}

std::string tensors_text(const std::vector<TensorInfo>& tensors) {
  std::string text = "[";
  for (const TensorInfo& t : tensors) {
    if (text.size() > 1) text += ", ";
    std::string shape;
    for (const uint32_t size : t.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    text += std::string("[\"") + (t.output ? "out" : "in") + "\", [" + shape + "], " +
            quoted(data_type_name(t.type)) + ", " + quoted(format_name(t.format)) + "]";
  }
  return text + "]";
}

std::string line_of(const Session& session, const ProfiledTask& task) {
  const TaskRecord& r = task.record;
  const Row row = row_of(session, task);
  std::string pipes;
  for (const double busy : r.pipe_busy_ns)
    pipes += (pipes.empty() ? "" : ", ") + std::to_string(std::llround(busy));
  std::string text;
  const auto add = [&text](const char* key, const std::string& value) {
    text += (text.empty() ? "{\"" : ", \"") + std::string(key) + "\": " + value;
  };
  add("sequence", std::to_string(r.sequence));
  add("stream", std::to_string(r.stream));
  add("kind", quoted(name_of(r.kind)));
  add("name", quoted(row.name));
  add("type", quoted(row.type));
  add("core", quoted(row.core));
  add("blocks", std::to_string(row.blocks));
  add("mix_blocks", std::to_string(row.mix_blocks));
  add("thread", std::to_string(r.thread_id));
  add("submit", std::to_string(r.submit_ns));
  add("start", std::to_string(r.start_ns));
  add("end", std::to_string(r.end_ns));
  add("call", std::to_string(row.call_ns));
  add("real", std::to_string(task.real_ns));
  add("pipes", "[" + pipes + "]");
  if (!task.tensors.empty()) add("tensors", tensors_text(task.tensors));
  return text + "}\n";
}

std::string session_line(const Session& session, int32_t device) {
  return "{\"format\": 1, \"device\": " + std::to_string(device) +
         ", \"switches\": " + std::to_string(session.switches) +
         ", \"metrics\": " + std::to_string(session.metrics) +
         ", \"clock_mhz\": " + std::to_string(std::llround(soc().machine.clock_ghz * 1000)) +
         ", \"cube_cores\": " + std::to_string(soc().machine.cube_cores) +
         ", \"vector_cores\": " + std::to_string(soc().machine.vector_cores) +
         ", \"crash\": " + (faults().prof_crash() ? "true" : "false") +
         ", \"empty\": " + (faults().prof_empty() ? "true" : "false") +
         ", \"renamed\": " + (faults().prof_renamed() ? "true" : "false") +
         ", \"wall_ns\": " + std::to_string(session.wall_ns) +
         ", \"raw_ns\": " + std::to_string(session.raw_ns) +
         ", \"virtual_ns\": " + std::to_string(session.virtual_ns) + "}\n";
}

std::string device_folder(const Session& session, int32_t device) {
  return session.folder + "/device_" + std::to_string(device);
}

}  // namespace

void stamp(Session& session) {
  session.wall_ns = read_clock(CLOCK_REALTIME) / 1000 * 1000;
  session.raw_ns = read_clock(CLOCK_MONOTONIC_RAW);
}

void make_folder(Session& session, const std::string& root) {
  session.folder = root + "/" + folder_name(session.wall_ns);
  make_directory(session.folder);
  make_directory(session.folder + "/host");
  make_directory(session.folder + "/host/data");
  for (const int32_t device : session.devices) {
    make_directory(device_folder(session, device));
    make_directory(device_folder(session, device) + "/data");
  }
  // torch_npu reads it as a Python literal.
  write_file(session.folder + "/host/start_info",
             "{\"collectionTimeBegin\": \"" + std::to_string(session.wall_ns / 1000) +
                 "\", \"clockMonotonicRaw\": \"" + std::to_string(session.raw_ns) + "\"}");
}

void write_tasks(const Session& session, const std::vector<ProfiledTask>& tasks) {
  if (session.folder.empty()) return;
  const bool wanted = session.switches & (kTaskTime | kTaskTimeLevel0);
  uint64_t to_lose = faults().prof_lost(), to_repeat = faults().prof_extra();
  for (const int32_t device : session.devices) {
    std::string text = session_line(session, device);
    for (const ProfiledTask& task : tasks) {
      if (!wanted || task.record.device != device) continue;
      if (is_row(task) && to_lose > 0) {
        to_lose--;
        continue;
      }
      const std::string line = line_of(session, task);
      text += line;
      if (is_row(task) && to_repeat > 0) {
        to_repeat--;
        text += line;
      }
    }
    write_file(device_folder(session, device) + "/data/tasks.jsonl", text);
  }
}

}  // namespace cann_sim::profiling
