// hivmc: what bishengir-compile runs as its last stage. Turns a lowered HIVM module into
//   <out>.o                 the object that the simulated runtime loads (object.h)
//   <dir>/lib<base>.so      the module's host functions, which return constants
//
//   hivmc --version
//   hivmc --micro-kernels   the table of micro-kernel families: pattern, pipe, types and ranks, separated by
//   tabs hivmc module.mlir [--enable-...=...]... -o <dir>/<base>
//
// CANN_SIM_FAULTS may ask for a crash (runtime/faults.h).
//
// Errors go to stderr as "hivmc: error: line N: ..." with exit code 1 (2 for a wrong command line); then no
// file is left behind.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "hivm/elf_writer.h"
#include "hivm/kernel.h"
#include "runtime/faults.h"

namespace {

constexpr const char* kVersion = "hivmc 1.0 (simulated CANN of triton-ascend-tune)";

// Options of the real tool that bishengir-compile passes on. They choose between ways to generate code, which
// the simulator does not do: the module says already all that counts.
constexpr std::string_view kIgnoredPrefixes[] = {"--enable-", "--target=",  "--link-aicore-bitcode=",
                                                 "--limit-",  "--set-",     "--tile-",
                                                 "--sync-",   "--disable-", "--mlir-",
                                                 "--save-"};

class UsageError : public std::runtime_error {
  using runtime_error::runtime_error;
};

struct Options {
  std::string input, output;
  bool version = false;
  bool micro_kernels = false;
};

bool is_ignored(std::string_view option) {
  for (const std::string_view prefix : kIgnoredPrefixes) {
    if (option.substr(0, prefix.size()) == prefix) return true;
  }
  return false;
}

Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); i++) {
    const std::string& a = arguments[i];
    if (a == "--version") {
      options.version = true;
    } else if (a == "--micro-kernels") {
      options.micro_kernels = true;
    } else if (a == "-o") {
      if (++i == arguments.size()) throw UsageError("-o needs a file name");
      options.output = arguments[i];
    } else if (a.size() > 1 && a[0] == '-') {
      if (!is_ignored(a)) throw UsageError("unknown option '" + a + "'");
    } else if (options.input.empty()) {
      options.input = a;
    } else {
      throw UsageError("more than one input: '" + options.input + "' and '" + a + "'");
    }
  }
  const bool compiles = !options.version && !options.micro_kernels;
  if (compiles && options.input.empty()) throw UsageError("no input file");
  if (compiles && options.output.empty()) throw UsageError("no output: -o <dir>/<name> is missing");
  return options;
}

std::string system_error(const std::string& what) { return what + ": " + std::strerror(errno); }

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(system_error("cannot read '" + path + "'"));
  std::stringstream text;
  text << file.rdbuf();
  if (file.bad()) throw std::runtime_error(system_error("cannot read '" + path + "'"));
  return text.str();
}

// A file that appears under its name only when it is complete.
class NewFile {
 public:
  NewFile(std::string path, const std::string& bytes)
      : path_(std::move(path)), temporary_(path_ + ".tmp" + std::to_string(getpid())) {
    std::ofstream file(temporary_, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) {
      const std::string message = system_error("cannot write '" + temporary_ + "'");
      std::remove(temporary_.c_str());
      throw std::runtime_error(message);
    }
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (!published_) std::remove(temporary_.c_str());
  }
  void publish() {
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
      throw std::runtime_error(system_error("cannot write '" + path_ + "'"));
    }
    published_ = true;
  }

 private:
  std::string path_, temporary_;
  bool published_ = false;
};

void print_micro_kernels() {
  for (const hivm::MicroFamily& family : hivm::micro_families()) {
    std::cout << family.pattern << '\t' << family.pipe << '\t' << family.types << '\t' << family.ranks
              << '\n';
  }
}

// Ends the process as a compiler with a bug would, if that was asked for.
void fail_on_demand(const std::string& text) {
  const std::string fault = cann_sim::faults().compile_fault(text);
  if (fault.empty()) return;
  std::cerr << "hivmc: " << fault << " on demand (CANN_SIM_FAULTS)" << std::endl;
  if (fault == "hang") {
    for (;;) pause();
  }
  std::raise(fault == "segv" ? SIGSEGV : SIGABRT);
}

void compile(const Options& options) {
  const std::string text = read_file(options.input);
  fail_on_demand(text);
  const std::string object = hivm::compile_module(text);
  const size_t slash = options.output.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : options.output.substr(0, slash + 1);
  const std::string base = slash == std::string::npos ? options.output : options.output.substr(slash + 1);
  const std::string library_name = "lib" + base + ".so";
  NewFile library(folder + library_name, hivm::constant_library(library_name, hivm::host_constants(text)));
  NewFile kernel(options.output + ".o", object);
  library.publish();
  kernel.publish();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse_options(std::vector<std::string>(argv + 1, argv + argc));
    if (options.version) {
      std::cout << kVersion << "\n";
      return 0;
    }
    if (options.micro_kernels) {
      print_micro_kernels();
      return 0;
    }
    compile(options);
    return 0;
  } catch (const UsageError& error) {
    std::cerr << "hivmc: error: " << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "hivmc: error: " << error.what() << "\n";
    return 1;
  }
}
