#include "hit_launch.h"

#include <utility>

#include "python_ref.h"

namespace tat {

bool leave_to_general() {
  if (!PyErr_Occurred()) return true;
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
  PyErr_Clear();
  return true;
}

Layout* layout_of(const Hits& hits, const Call& call) {
  for (const auto& layout : *hits.layouts) {
    if (call.follows(*layout)) return layout.get();
  }
  return nullptr;
}

namespace {

// Whether `dict` holds exactly the names and values, by identity, that `flat` lists in turn.
bool is_unchanged(PyObject* dict, PyObject* flat) {
  if (!PyDict_Check(dict) || PyDict_GET_SIZE(dict) * 2 != PyTuple_GET_SIZE(flat)) return false;
  PyObject *name, *value;
  Py_ssize_t position = 0;
  for (Py_ssize_t i = 0; PyDict_Next(dict, &position, &name, &value); i += 2) {
    if (name != PyTuple_GET_ITEM(flat, i) || value != PyTuple_GET_ITEM(flat, i + 1)) return false;
  }
  return true;
}

// Whether the winner is what it was when the hit was learnt, and still the winner.
bool holds(PyObject* hit, PyObject* tuner) {
  const auto rule = static_cast<Rule>(PyLong_AsLong(field(hit, kRule)));
  PyObject* config = field(hit, kConfig);
  if (rule != Rule::kAny) {
    const Ref configs(PyObject_GetAttr(tuner, names.configs));
    if (!configs || !PyList_Check(configs.get())) return false;
    const bool lone = PyList_GET_SIZE(configs.get()) == 1;
    if (lone != (rule == Rule::kLone)) return false;
    if (lone && PyList_GET_ITEM(configs.get(), 0) != config) return false;
  }
  if (rule != Rule::kLone) {
    const Ref cache(PyObject_GetAttr(tuner, names.cache));
    if (!cache || !PyDict_CheckExact(cache.get())) return false;
    if (PyDict_GetItemWithError(cache.get(), field(hit, kKey)) != config) return false;
  }
  const Ref attributes(PyObject_GetAttr(config, names.dict));
  return attributes && is_unchanged(attributes.get(), field(hit, kAttributes)) &&
         is_unchanged(field(hit, kSettings), field(hit, kItems));
}

// The hit for a call; null, with or without an exception, if there is none.
Ref find(const Hits& hits, PyObject* tuner, const Call& call) {
  if (call.warmup != Py_False || !call.grid) return Ref();
  const Layout* layout = layout_of(hits, call);
  if (!layout) return Ref();
  const Ref keys(PyObject_GetAttr(tuner, names.keys));
  if (keys.get() != hits.keys) return Ref();
  const Ref active(PyObject_GetAttr(hits.driver, names.active));
  if (active.get() != hits.active) return Ref();
  const Ref device(PyObject_CallNoArgs(hits.current_device));
  if (!device) return Ref();
  const Ref key = layout->key(call, device.get());
  if (!key) return Ref();
  Ref hit = Ref::borrowed(PyDict_GetItemWithError(layout->table.get(), key.get()));
  return hit && holds(hit.get(), tuner) ? std::move(hit) : Ref();
}

// The kernel itself, where the launch returned the promise of one (triton.AsyncCompileMode).
Ref kept(Hits& hits, Ref kernel) {
  if (!kernel) return kernel;
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(kernel.get()));
  if (type == hits.kernel) return kernel;
  const Ref name(PyObject_GetAttrString(type, "__name__"));
  if (!name) return Ref();
  if (PyUnicode_Check(name.get()) && PyUnicode_CompareWithASCIIString(name.get(), "FutureKernel") == 0) {
    return Ref(PyObject_CallMethodNoArgs(kernel.get(), names.result));
  }
  const Ref before(hits.kernel);
  Py_INCREF(type);
  hits.kernel = type;
  return kernel;
}

// Launches a hit. null with an exception set if the launch raised it.
Ref launch(Hits& hits, PyObject* tuner, Call& call, PyObject* hit) {
  if (PyObject_SetAttr(tuner, names.best_config, field(hit, kConfig)) < 0) return Ref();
  if (hits.touch && hits.touch != Py_None && !Ref(PyObject_CallOneArg(hits.touch, field(hit, kKey))))
    return Ref();
  const Ref fn(PyObject_GetAttr(tuner, names.fn));
  if (!fn) return Ref();
  Py_ssize_t end = call.positional + call.named;
  call.stack[0] = fn.get();
  call.stack[++end] = call.grid;
  call.stack[++end] = Py_False;
  PyObject* values = field(hit, kValues);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); ++i) call.stack[++end] = PyTuple_GET_ITEM(values, i);
  const std::size_t positional = static_cast<std::size_t>(call.positional) + 1;
  return kept(hits,
              Ref(PyObject_VectorcallMethod(names.run, call.stack.data(), positional, field(hit, kNames))));
}

// Looks the call up and launches it; false if it is left to the general path. `result` is null with an
// exception set if the launch raised it.
bool try_hit(Hits& hits, PyObject* tuner, Call& call, Ref* result) {
  const Ref hit = find(hits, tuner, call);
  if (!hit) return !leave_to_general();
  const Py_ssize_t settings = PyTuple_GET_SIZE(field(hit.get(), kValues));
  if (call.positional + call.named + 2 + settings > kMaxArguments) return false;
  *result = launch(hits, tuner, call, hit.get());
  return true;
}

// Calls the tuner's general path, as its `run` would.
PyObject* call_general(PyObject* tuner, Call& call) {
  const Ref keywords(PyTuple_New(call.named + 2));
  if (!keywords) return nullptr;
  for (Py_ssize_t i = 0; i < call.named + 2; ++i) {
    PyObject* name = i < call.named ? call.keywords[i] : i == call.named ? names.grid : names.warmup;
    Py_INCREF(name);
    PyTuple_SET_ITEM(keywords.get(), i, name);
  }
  const Py_ssize_t end = call.positional + call.named;
  call.stack[0] = tuner;
  call.stack[end + 1] = call.grid;
  call.stack[end + 2] = call.warmup;
  const auto positional = static_cast<std::size_t>(call.positional) + 1;
  return PyObject_VectorcallMethod(names.general, call.stack.data(), positional, keywords.get());
}

}  // namespace

PyObject* call_hits(PyObject* self, PyObject* const* args, std::size_t nargsf, PyObject* kwnames) {
  const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
  if (count == 0) {
    PyErr_SetString(PyExc_TypeError, "Hits() takes the tuner as its first argument");
    return nullptr;
  }
  Call call;
  Ref result;
  if (call.take(args + 1, count - 1, kwnames) &&
      try_hit(*reinterpret_cast<Hits*>(self), args[0], call, &result)) {
    return result.release();
  }
  return PyObject_VectorcallMethod(names.general, args, static_cast<std::size_t>(count), kwnames);
}

PyObject* call_launch(PyObject* self, PyObject* const* args, std::size_t nargsf, PyObject* kwnames) {
  const auto& bound = *reinterpret_cast<Launch*>(self);
  auto& hits = *reinterpret_cast<Hits*>(bound.hits);
  const Ref run(PyObject_GetAttr(bound.tuner, names.run));
  if (!run) return nullptr;
  if (PyMethod_Check(run.get()) && PyMethod_GET_FUNCTION(run.get()) == hits.run) {
    Call call;
    Ref result;
    // A grid or warmup among the keywords is an error, which the stock way raises.
    if (call.take(args, PyVectorcall_NARGS(nargsf), kwnames) && !call.grid && !call.warmup) {
      call.grid = bound.grid;
      call.warmup = Py_False;
      return try_hit(hits, bound.tuner, call, &result) ? result.release() : call_general(bound.tuner, call);
    }
  }
  PyObject* subscript[] = {bound.tuner, bound.grid};
  const Ref stock(PyObject_Vectorcall(hits.subscript, subscript, 2, nullptr));
  return stock ? PyObject_Vectorcall(stock.get(), args, nargsf, kwnames) : nullptr;
}

}  // namespace tat
