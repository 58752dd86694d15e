#include "hivm/object.h"

#include <cstdint>
#include <cstring>

#include "hivm/micro.h"

namespace hivm {
namespace {

constexpr char kMagic[8] = "HIVMSIM";
constexpr uint32_t kVersion = 1;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t zero;
  uint64_t bytes;
  uint64_t hash;
};
static_assert(sizeof(Header) == 32);

uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

}  // namespace

std::string pack_object(std::string_view text) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.bytes = text.size();
  header.hash = fnv1a(text);
  std::string object(reinterpret_cast<const char*>(&header), sizeof header);
  return object.append(text);
}

std::string_view unpack_object(std::string_view object) {
  Header header;
  if (object.size() < sizeof header || std::memcmp(object.data(), kMagic, sizeof kMagic) != 0) {
    throw CompileError("this is not an object that the simulator's hivmc wrote");
  }
  std::memcpy(&header, object.data(), sizeof header);
  if (header.version != kVersion) {
    throw CompileError("object of format version " + std::to_string(header.version) +
                       ", this simulator reads version " + std::to_string(kVersion) +
                       ": compile the kernel again");
  }
  const std::string_view text = object.substr(sizeof header);
  if (header.bytes > text.size()) throw CompileError("damaged object: it is cut short");
  if (fnv1a(text.substr(0, header.bytes)) != header.hash)
    throw CompileError("damaged object: its checksum does not match");
  return text.substr(0, header.bytes);
}

}  // namespace hivm
