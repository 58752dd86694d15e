#include "runtime/thread_name.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cann_sim {

long current_thread_id() { return syscall(SYS_gettid); }

std::string current_thread_name() {
  char name[17] = {};
  prctl(PR_GET_NAME, name);
  return name;
}

}  // namespace cann_sim
