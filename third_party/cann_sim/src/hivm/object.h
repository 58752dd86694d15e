// The bytes that hivmc writes as <kernel>.o and the runtime is given: a header and the module's text.
//
//   0  8 bytes  "HIVMSIM" and a zero
//   8  u32      format version
//  12  u32      zero
//  16  u64      number of bytes of text
//  24  u64      FNV-1a hash of the text
//  32           the text
// Numbers are little endian. The text is compiled again when it is loaded, which takes about a millisecond.
#pragma once
#include <string>
#include <string_view>

namespace hivm {

std::string pack_object(std::string_view text);
// The text, still inside `object`. Throws CompileError on foreign, damaged or cut bytes, or another format
// version.
std::string_view unpack_object(std::string_view object);

}  // namespace hivm
