// Writes the size and alignment of torch_npu's real OpCommand, as decimal text, into the object file. It
// cannot be run (it would need all of torch to link), so read_layout.cmake searches the object for the text.
#include <torch_npu/csrc/framework/OpCommand.h>

#include <cstddef>

#define DIGITS(n)                                                                        \
  char('0' + (n) / 10000 % 10), char('0' + (n) / 1000 % 10), char('0' + (n) / 100 % 10), \
      char('0' + (n) / 10 % 10), char('0' + (n) % 10)

constexpr std::size_t kBytes = sizeof(at_npu::native::OpCommand);
constexpr std::size_t kAlignment = alignof(at_npu::native::OpCommand);
static_assert(kBytes < 100000, "five digits are written");

extern const char cann_sim_op_command_layout[];
const char cann_sim_op_command_layout[] = {'O',  'P',
                                           '_',  'C',
                                           'O',  'M',
                                           'M',  'A',
                                           'N',  'D',
                                           '_',  'B',
                                           'Y',  'T',
                                           'E',  'S',
                                           '=',  DIGITS(kBytes),
                                           ',',  'A',
                                           'L',  'I',
                                           'G',  'N',
                                           '=',  DIGITS(kAlignment),
                                           '\n', '\0'};
