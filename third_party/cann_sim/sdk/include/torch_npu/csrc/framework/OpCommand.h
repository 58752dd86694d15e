// A slim stand-in for torch_npu's OpCommand.h, seen only by the launchers that triton-ascend compiles (see
// ATen/ATen.h). The functions are those of libtorch_npu.so, which construct the real object in `storage_`:
// its size and alignment were taken from the wheel's own header when the SDK was built.
#pragma once

#include <functional>
#include <string>

#include "cann_sim/op_command_layout.h"

namespace at_npu {
namespace native {

class __attribute__((visibility("default"))) OpCommand {
 public:
  OpCommand();
  // The real destructor is inline and destroys members that stay empty in a launcher's use of the class (a
  // name and a handler are passed on to an object that Run() releases), so there is nothing to do here.
  ~OpCommand() {}
  OpCommand(const OpCommand&) = delete;
  OpCommand& operator=(const OpCommand&) = delete;

  OpCommand& Name(const std::string& name);
  OpCommand& SetCustomHandler(std::function<int()> handler);
  void Run();

 private:
  alignas(CANN_SIM_OP_COMMAND_ALIGNMENT) unsigned char storage_[CANN_SIM_OP_COMMAND_BYTES];
};

}  // namespace native
}  // namespace at_npu
