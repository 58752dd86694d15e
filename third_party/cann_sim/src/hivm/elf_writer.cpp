#include "hivm/elf_writer.h"

#include <elf.h>

#include <cstring>

namespace hivm {
namespace {

constexpr uint64_t kPage = 4096;

// mov rax, imm64; ret; and a nop to make twelve bytes
constexpr size_t kFunctionBytes = 12;

template <class T>
void put(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

uint32_t sysv_hash(const std::string& name) {
  uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    hash ^= (hash & 0xF0000000) >> 24;
    hash &= 0x0FFFFFFF;
  }
  return hash;
}

// DT_HASH: buckets that start chains of symbol numbers. One chain is enough for a handful of symbols.
std::string hash_table(const std::vector<HostConstant>& functions) {
  const uint32_t symbols = static_cast<uint32_t>(functions.size()) + 1;
  const uint32_t buckets = static_cast<uint32_t>(functions.size()) | 1;
  std::vector<uint32_t> bucket(buckets, STN_UNDEF), chain(symbols, STN_UNDEF);
  for (uint32_t i = 1; i < symbols; i++) {
    uint32_t& head = bucket[sysv_hash(functions[i - 1].name) % buckets];
    chain[i] = head;
    head = i;
  }
  std::string table;
  put(table, buckets);
  put(table, symbols);
  for (const uint32_t entry : bucket) put(table, entry);
  for (const uint32_t entry : chain) put(table, entry);
  return table;
}

std::string machine_code(const std::vector<HostConstant>& functions) {
  std::string code(1, '\xC3');  // never empty: a segment must hold something
  code.resize(kFunctionBytes, '\x90');
  for (const HostConstant& function : functions) {
    code += "\x48\xB8";
    put(code, function.value);
    code += "\xC3\x90";
  }
  return code;
}

Elf64_Phdr segment(uint32_t type, uint32_t flags, uint64_t offset, uint64_t bytes, uint64_t align) {
  Elf64_Phdr s{};
  s.p_type = type;
  s.p_flags = flags;
  s.p_offset = s.p_vaddr = s.p_paddr = offset;
  s.p_filesz = s.p_memsz = bytes;
  s.p_align = align;
  return s;
}

Elf64_Ehdr file_header(uint16_t segments) {
  Elf64_Ehdr h{};
  std::memcpy(h.e_ident, ELFMAG, SELFMAG);
  h.e_ident[EI_CLASS] = ELFCLASS64;
  h.e_ident[EI_DATA] = ELFDATA2LSB;
  h.e_ident[EI_VERSION] = EV_CURRENT;
  h.e_type = ET_DYN;
  h.e_machine = EM_X86_64;
  h.e_version = EV_CURRENT;
  h.e_phoff = sizeof(Elf64_Ehdr);
  h.e_ehsize = sizeof(Elf64_Ehdr);
  h.e_phentsize = sizeof(Elf64_Phdr);
  h.e_phnum = segments;
  h.e_shentsize = sizeof(Elf64_Shdr);
  return h;
}

}  // namespace

// Layout, addresses equal to file offsets: headers, .dynsym, .dynstr, .hash (read only); code on its own page
// (execute); .dynamic on its own page (writable: the loader may relocate entries in place).
std::string constant_library(const std::string& soname, const std::vector<HostConstant>& functions) {
  constexpr uint16_t kSegments = 5;

  std::string strings(1, '\0');
  const uint64_t soname_at = strings.size();
  strings += soname;
  strings.push_back('\0');
  std::vector<uint32_t> names;
  for (const HostConstant& function : functions) {
    names.push_back(static_cast<uint32_t>(strings.size()));
    strings += function.name;
    strings.push_back('\0');
  }
  const std::string hash = hash_table(functions);
  const std::string code = machine_code(functions);

  const uint64_t symbols_at = sizeof(Elf64_Ehdr) + kSegments * sizeof(Elf64_Phdr);
  const uint64_t hash_at = symbols_at + (functions.size() + 1) * sizeof(Elf64_Sym);
  const uint64_t strings_at = hash_at + hash.size();
  const uint64_t read_end = strings_at + strings.size();
  const uint64_t code_at = (read_end + kPage - 1) / kPage * kPage;
  const uint64_t dynamic_at = (code_at + code.size() + kPage - 1) / kPage * kPage;

  std::vector<Elf64_Dyn> dynamic;
  const auto entry = [&](int64_t tag, uint64_t value) { dynamic.push_back({tag, {value}}); };
  entry(DT_SONAME, soname_at);
  entry(DT_HASH, hash_at);
  entry(DT_STRTAB, strings_at);
  entry(DT_SYMTAB, symbols_at);
  entry(DT_STRSZ, strings.size());
  entry(DT_SYMENT, sizeof(Elf64_Sym));
  entry(DT_NULL, 0);
  const uint64_t dynamic_bytes = dynamic.size() * sizeof(Elf64_Dyn);

  std::string file;
  put(file, file_header(kSegments));
  put(file, segment(PT_LOAD, PF_R, 0, read_end, kPage));
  put(file, segment(PT_LOAD, PF_R | PF_X, code_at, code.size(), kPage));
  put(file, segment(PT_LOAD, PF_R | PF_W, dynamic_at, dynamic_bytes, kPage));
  put(file, segment(PT_DYNAMIC, PF_R | PF_W, dynamic_at, dynamic_bytes, 8));
  put(file, segment(PT_GNU_STACK, PF_R | PF_W, 0, 0, 16));
  put(file, Elf64_Sym{});
  for (size_t i = 0; i < functions.size(); i++) {
    Elf64_Sym symbol{};
    symbol.st_name = names[i];
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_other = STV_DEFAULT;
    symbol.st_shndx = 1;  // any section but "undefined"; there is no section table
    symbol.st_value = code_at + (i + 1) * kFunctionBytes;
    symbol.st_size = kFunctionBytes;
    put(file, symbol);
  }
  file += hash;
  file += strings;
  file.resize(code_at, '\0');
  file += code;
  file.resize(dynamic_at, '\0');
  for (const Elf64_Dyn& d : dynamic) put(file, d);
  return file;
}

}  // namespace hivm
