// Fuzzes what hivmc reads: damaged modules must be refused with a CompileError, without a crash and without
// hanging.
//
//   hivmc_fuzz SECONDS SEED module.mlir...
//
// Starts from real modules. Mutations: bytes, numbers, deleted, repeated and exchanged lines, pieces of other
// modules, words that the parser knows. Build with -fsanitize=address,undefined. Works on any machine with
// g++: neither libFuzzer nor AFL is needed. Prints the number of inputs and of those that compiled; the input
// at fault stays in "fuzz-input".
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "hivm/kernel.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kWords[] = {"memref<",
                                  ">",
                                  "[",
                                  "]",
                                  "(",
                                  ")",
                                  "{",
                                  "}",
                                  "%0",
                                  "%arg3",
                                  "?",
                                  "-1",
                                  "0",
                                  "index",
                                  "9223372036854775807",
                                  "-9223372036854775808",
                                  "i1",
                                  "f32",
                                  "x",
                                  "scf.for",
                                  "scf.if",
                                  "return",
                                  "%c0",
                                  "strided<[",
                                  "offset: ?",
                                  "#map",
                                  "floordiv 0",
                                  "mod 0",
                                  "<cbuf>",
                                  "hivm.part_of_mix",
                                  "0xFFFFFFFFFFFFFFFF",
                                  ": i64",
                                  "to",
                                  "step",
                                  "flag = ",
                                  "\n"};

class Mutator {
 public:
  Mutator(const std::vector<std::string>& seeds, uint64_t seed) : seeds_(seeds), random_(seed) {}

  std::string next() {
    std::string text = pick(seeds_);
    for (int i = below(6) + 1; i > 0; i--) mutate(text);
    return text;
  }

 private:
  int below(size_t n) { return n ? static_cast<int>(random_() % n) : 0; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }
  // Start and length of a line, with its end.
  std::pair<size_t, size_t> line(const std::string& text) {
    const size_t at = below(text.size());
    const size_t before = text.rfind('\n', at ? at - 1 : 0),
                 begin = before == std::string::npos ? 0 : before + 1;
    const size_t end = std::min(text.find('\n', begin), text.size() - 1);
    return {begin, end - begin + 1};
  }
  void mutate(std::string& text) {
    if (text.empty()) return;
    const size_t at = below(text.size());
    switch (below(9)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, below(40) + 1);
        break;
      case 2: {
        const auto [begin, length] = line(text);
        text.erase(begin, length);
        break;
      }
      case 3: {
        const auto [begin, length] = line(text);
        text.insert(begin, text.substr(begin, length));
        break;
      }
      case 4: {
        const auto [begin, length] = line(text);
        const std::string& other = pick(seeds_);
        const auto [from, count] = line(other);
        text.replace(begin, length, other.substr(from, count));
        break;
      }
      case 5:
        text.insert(at, kWords[below(std::size(kWords))]);
        break;
      case 6: {  // another number
        const size_t digit = text.find_first_of("0123456789", at);
        if (digit == std::string::npos) return;
        const size_t end = text.find_first_not_of("0123456789", digit);
        static const char* const kNumbers[] = {
            "0", "1", "-1", "255", "4294967296", "9223372036854775807", "99999999999999999999"};
        text.replace(digit, end - digit, kNumbers[below(std::size(kNumbers))]);
        break;
      }
      case 7:
        text.resize(at);
        break;
      default: {  // another value
        const size_t value = text.find('%', at), other = text.find('%', below(text.size()));
        if (value == std::string::npos || other == std::string::npos) return;
        const auto word = [&](size_t from) {
          return text.substr(from, text.find_first_of(" ,:)[]", from) - from);
        };
        const std::string with = word(other);
        text.replace(value, word(value).size(), with);
      }
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_;
};

std::string read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: hivmc_fuzz SECONDS SEED module.mlir...\n";
    return 2;
  }
  std::vector<std::string> seeds;
  for (int i = 3; i < argc; i++) seeds.push_back(read(argv[i]));
  Mutator mutator(seeds, std::strtoull(argv[2], nullptr, 10));
  const auto end = Clock::now() + std::chrono::duration<double>(std::atof(argv[1]));
  constexpr double kHangSeconds = 10;
  uint64_t inputs = 0, compiled = 0;
  double slowest = 0;
  while (Clock::now() < end) {
    const std::string text = mutator.next();
    std::ofstream("fuzz-input", std::ios::binary) << text;
    const auto start = Clock::now();
    try {
      hivm::compile_module(text);
      hivm::host_constants(text);
      compiled++;
    } catch (const hivm::CompileError&) {
    }
    inputs++;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    slowest = std::max(slowest, seconds);
    if (seconds > kHangSeconds) {
      std::cerr << "an input took " << seconds << " s\n";
      return 1;
    }
  }
  std::remove("fuzz-input");
  std::printf("%llu inputs, %llu compiled, slowest %.3f s\n", static_cast<unsigned long long>(inputs),
              static_cast<unsigned long long>(compiled), slowest);
  return 0;
}
