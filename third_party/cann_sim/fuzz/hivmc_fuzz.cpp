// What AFL runs: hivmc's whole way from module text to object and host library, on a file, without writing
// any.
//
//   hivmc_fuzz FILE...
//
// A module that is refused with a message is as good as one that compiles: exit code 0. Whatever else happens
// (a signal, an exception of another kind, an object that does not load again) is a finding.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "hivm/elf_writer.h"
#include "hivm/kernel.h"
#include "hivm/text.h"

namespace {

void compile(const std::string& text) {
  std::string object;
  try {
    object = hivm::compile_module(text);
    hivm::constant_library("libkernel.so", hivm::host_constants(text));
  } catch (const hivm::CompileError&) {
    return;
  }
  hivm::load_program(object);  // what hivmc has accepted, the runtime must accept
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "hivmc_fuzz: cannot read '%s'\n", argv[i]);
      return 2;
    }
    std::stringstream text;
    text << file.rdbuf();
    try {
      compile(text.str());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "hivmc_fuzz: %s: %s\n", argv[i], error.what());
      std::abort();
    }
  }
  return 0;
}
