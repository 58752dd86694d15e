// The source of every library of the SDK that only forwards to libascendcl.so: it defines nothing. torch_npu,
// the launchers and the profiler look for these libraries by name; libascendcl.so, which each of them needs,
// holds all symbols.
