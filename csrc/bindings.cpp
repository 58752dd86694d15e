// The Python module triton_ascend_tune._native. Its types are described in triton_ascend_tune/_native.pyi.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "acl_runtime.h"
#include "cuda_runtime.h"
#include "dispatch.h"
#include "event_timer.h"
#include "stream_gate.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tat {
namespace {

// The Python side of the loop. The GIL is held from one sample to the next, also during records: giving it
// away between START and the launch could put another thread's work, up to a switch interval of 5 ms, into
// the measured time. It is given away where the loop waits for the device anyway.
class PythonHost final : public Host {
 public:
  PythonHost(nb::object flush, nb::object stream, nb::object trail)
      : flush_(std::move(flush)), stream_(std::move(stream)), trail_(std::move(trail)) {}

  void flush() override {
    if (!flush_.is_none()) flush_();
  }

  bool trail() override {
    if (trail_.is_none()) return false;
    trail_();
    return true;
  }

  Stream drained_stream() override {
    const nb::object handle = stream_();
    Stream stream = PyLong_AsVoidPtr(handle.ptr());
    if (!stream && PyErr_Occurred()) throw nb::python_error();
    return stream;
  }

  void check_interrupt() override {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }

  void wait(const std::function<void()>& blocking) override {
    const nb::gil_scoped_release release;
    blocking();
  }

 private:
  friend class PythonTimer;

  nb::object flush_;
  nb::object stream_;
  nb::object trail_;
};

// An EventTimer whose callables Python's garbage collector can see: they often reach back to the timer,
// through the frames of an exception's traceback for example.
class PythonTimer final : public EventTimer {
 public:
  PythonTimer(std::shared_ptr<DeviceRuntime> runtime, std::shared_ptr<PythonHost> host, TimerOptions options,
              std::unique_ptr<StreamGate> gate)
      : EventTimer(std::move(runtime), host, options, std::move(gate)), python_host_(std::move(host)) {}

  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    const PythonHost& host = *nb::inst_ptr<PythonTimer>(self)->python_host_;
    Py_VISIT(host.flush_.ptr());
    Py_VISIT(host.stream_.ptr());
    Py_VISIT(host.trail_.ptr());
    return 0;
  }

  static int clear(PyObject* self) {
    PythonHost& host = *nb::inst_ptr<PythonTimer>(self)->python_host_;
    host.flush_ = nb::none();
    host.stream_ = nb::none();
    host.trail_ = nb::none();
    return 0;
  }

 private:
  std::shared_ptr<PythonHost> python_host_;
};

PyType_Slot python_timer_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(PythonTimer::traverse)},
                                    {Py_tp_clear, reinterpret_cast<void*>(PythonTimer::clear)},
                                    {0, nullptr}};

std::function<void()> callable_or_none(nb::handle trial, const char* name) {
  nb::object callable = trial.attr(name);
  if (callable.is_none()) return nullptr;
  return [callable = std::move(callable)] { callable(); };
}

std::vector<Trial> to_trials(const nb::sequence& trials) {
  std::vector<Trial> result;
  for (nb::handle trial : trials) {
    Trial& added = result.emplace_back();
    added.launch = callable_or_none(trial, "launch");
    if (!added.launch) throw nb::type_error("a trial's launch is None; it must be callable");
    added.before = callable_or_none(trial, "before");
    added.after = callable_or_none(trial, "after");
  }
  return result;
}

// Translates DeviceError and LibraryError, and gives the former its fields as attributes.
void bind_errors(nb::module_& m) {
  static PyObject* device_error = nullptr;
  device_error = PyErr_NewExceptionWithDoc(
      "triton_ascend_tune._native.DeviceError",
      "A call into the device's library that failed. Attributes: call, code, detail.", PyExc_RuntimeError,
      nullptr);
  m.attr("DeviceError") = nb::handle(device_error);
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const DeviceError& error) {
      const nb::object instance = nb::handle(device_error)(error.what());
      instance.attr("call") = error.call();
      instance.attr("code") = error.code();
      instance.attr("detail") = error.detail();
      PyErr_SetObject(device_error, instance.ptr());
    }
  });
  nb::exception<LibraryError>(m, "LibraryError", PyExc_RuntimeError);
}

void bind_runtime(nb::module_& m) {
  nb::class_<DeviceRuntime>(m, "DeviceRuntime", "What the measuring loop needs of a device.");
  nb::class_<AclRuntime, DeviceRuntime>(m, "AclRuntime",
                                        "The Ascend runtime library, loaded when constructed.")
      .def(nb::init<const std::string&>(), "library"_a = "libascendcl.so")
      .def_prop_ro("library_path", &AclRuntime::library_path)
      .def_prop_ro("simulator_version", &AclRuntime::simulator_version);
  nb::class_<CudaRuntime, DeviceRuntime>(m, "CudaRuntime", "The CUDA driver, loaded when constructed.")
      .def(nb::init<const std::string&>(), "library"_a = "libcuda.so.1");
  m.def(
      "choose_gate",
      [](DeviceRuntime& runtime) {
        const nb::gil_scoped_release release;
        const GateChoice choice = choose_gate(runtime);
        return std::pair(choice.kind, choice.problem);
      },
      "runtime"_a, "The kind of gate that works, or an empty string and why none does.");
}

void bind_run(nb::module_& m) {
  nb::class_<Run>(m, "Run", "The samples of one call, column by column, in the order they were taken.")
      .def_prop_ro("trials",
                   [](const Run& run) {
                     std::vector<std::size_t> trials;
                     for (const Sample& sample : run.samples) trials.push_back(sample.trial);
                     return trials;
                   })
      .def_prop_ro("kernel_ms",
                   [](const Run& run) {
                     std::vector<double> times;
                     for (const Sample& sample : run.samples) times.push_back(sample.kernel_ms);
                     return times;
                   })
      .def_prop_ro("iteration_ms",
                   [](const Run& run) {
                     std::vector<double> times;
                     for (const Sample& sample : run.samples) times.push_back(sample.iteration_ms);
                     return times;
                   })
      .def_prop_ro("places",
                   [](const Run& run) {
                     std::vector<std::size_t> places;
                     for (const Sample& sample : run.samples) places.push_back(sample.place);
                     return places;
                   })
      .def_ro("rejected", &Run::rejected)
      .def_ro("gated", &Run::gated)
      .def_ro("host_ms", &Run::host_ms);
}

void bind_timer(nb::module_& m) {
  nb::class_<PythonTimer>(m, "EventTimer", nb::type_slots(python_timer_slots),
                          "Takes samples of trials between events on the caller's stream.")
      .def(
          "__init__",
          [](PythonTimer* self, std::shared_ptr<DeviceRuntime> runtime, nb::object flush, nb::object stream,
             std::size_t in_flight, const std::string& gate, bool prime, int gate_limit_ms,
             nb::object trail) {
            auto host = std::make_shared<PythonHost>(std::move(flush), std::move(stream), std::move(trail));
            const TimerOptions options{in_flight, prime, std::chrono::milliseconds(gate_limit_ms)};
            auto made = gate.empty() ? nullptr : runtime->make_gate(gate);
            new (self) PythonTimer(std::move(runtime), std::move(host), options, std::move(made));
          },
          "runtime"_a, "flush"_a.none(), "stream"_a, "in_flight"_a = TimerOptions().in_flight, "gate"_a = "",
          "prime"_a = false, "gate_limit_ms"_a = static_cast<int>(TimerOptions().gate_limit.count()),
          "trail"_a = nb::none())
      .def(
          "run",
          [](PythonTimer& self, const nb::sequence& trials, const std::vector<std::size_t>& order,
             bool gated) { return self.run(to_trials(trials), order, gated); },
          "trials"_a, "order"_a, "gated"_a = true)
      .def_prop_ro("gate_expired", [](const PythonTimer& self) { return self.gate_expired(); })
      .def_prop_ro("interruption",
                   [](const PythonTimer& self) -> std::optional<std::pair<std::size_t, std::string>> {
                     if (!self.interruption()) return std::nullopt;
                     return std::pair(self.interruption()->trial,
                                      std::string(step_name(self.interruption()->step)));
                   })
      .def_prop_ro("events_created", [](const PythonTimer& self) { return self.pool().created(); })
      .def_prop_ro("events_idle", [](const PythonTimer& self) { return self.pool().idle(); });
}

}  // namespace
}  // namespace tat

NB_MODULE(_native, m) {
  // nanobind's types and ours are one for the whole process. (From Python 3.12 on the import itself refuses.)
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    throw nb::import_error("triton_ascend_tune._native works in the main interpreter only, like torch");
  }
#ifdef NDEBUG
  // A timer that some global still holds when the interpreter ends is no news to the user.
  nb::set_leak_warnings(false);
#endif
  m.doc() = "The native measuring loop of triton-ascend-tune.";
  tat::bind_errors(m);
  tat::bind_runtime(m);
  tat::bind_run(m);
  tat::bind_timer(m);
  if (!tat::add_dispatch(m.ptr())) throw nb::python_error();
}
