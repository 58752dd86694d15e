#include "dispatch.h"

#include <structmember.h>

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "hit_key.h"
#include "hit_launch.h"
#include "python_ref.h"

namespace tat {
namespace {

// Ways of calling one kernel that are told apart; further ones take the general path.
constexpr std::size_t kMaxLayouts = 16;

PyTypeObject* launch_type = nullptr;

bool all_strings(PyObject* tuple) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(tuple, i))) return false;
  }
  return true;
}

// Whether `hit` is what `launch` and `holds` rely on; TypeError otherwise.
bool check_hit(PyObject* hit) {
  const bool sound = PyTuple_Check(hit) && PyTuple_GET_SIZE(hit) == kFields &&
                     PyTuple_Check(field(hit, kAttributes)) && PyDict_Check(field(hit, kSettings)) &&
                     PyTuple_Check(field(hit, kItems)) && PyTuple_Check(field(hit, kNames)) &&
                     all_strings(field(hit, kNames)) && PyTuple_Check(field(hit, kValues)) &&
                     PyLong_Check(field(hit, kRule));
  if (!sound) PyErr_SetString(PyExc_TypeError, "not a hit");
  return sound;
}

// learn(args, keywords, device, limit, parts, hit): see _native.pyi.
PyObject* learn(PyObject* self, PyObject* arguments) {
  auto& hits = *reinterpret_cast<Hits*>(self);
  PyObject *args, *keywords, *device, *make_parts, *make_hit;
  Py_ssize_t limit;
  if (!PyArg_ParseTuple(arguments, "O!O!OnOO", &PyTuple_Type, &args, &PyDict_Type, &keywords, &device, &limit,
                        &make_parts, &make_hit)) {
    return nullptr;
  }
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  std::vector<PyObject*> flat(static_cast<std::size_t>(count + PyDict_GET_SIZE(keywords)));
  for (Py_ssize_t i = 0; i < count; ++i) flat[static_cast<std::size_t>(i)] = PyTuple_GET_ITEM(args, i);
  const Ref kwnames(PySequence_Tuple(keywords));
  if (!kwnames) return nullptr;
  PyObject *name, *value;
  Py_ssize_t position = 0;
  for (std::size_t i = static_cast<std::size_t>(count); PyDict_Next(keywords, &position, &name, &value); ++i)
    flat[i] = value;
  Call call;
  if (!call.take(flat.data(), count, kwnames.get())) Py_RETURN_FALSE;
  Layout* layout = layout_of(hits, call);
  if (!layout) {
    if (hits.layouts->size() == kMaxLayouts) Py_RETURN_FALSE;
    const Ref parts(PyObject_CallNoArgs(make_parts));
    if (!parts) return nullptr;
    auto made = Layout::make(call, parts.get());
    if (!made) return nullptr;
    // Another thread may have been here meanwhile.
    layout = layout_of(hits, call);
    if (!layout && hits.layouts->size() < kMaxLayouts)
      layout = hits.layouts->emplace_back(std::move(made)).get();
  }
  if (!layout) Py_RETURN_FALSE;
  const Ref key = layout->key(call, device);
  if (!key || PyObject_Hash(key.get()) == -1) {
    if (!leave_to_general()) return nullptr;
    Py_RETURN_FALSE;
  }
  const Ref hit(PyObject_CallNoArgs(make_hit));
  if (!hit) return nullptr;
  if (hit.get() == Py_None) Py_RETURN_FALSE;
  if (!check_hit(hit.get())) return nullptr;
  // Keys of winners that were forgotten or replaced pile up; those still in use are learnt again.
  if (PyDict_GET_SIZE(layout->table.get()) >= limit) PyDict_Clear(layout->table.get());
  if (PyDict_SetItem(layout->table.get(), key.get(), hit.get()) < 0) return nullptr;
  Py_RETURN_TRUE;
}

// forget(key): drops all hits on a winner.
PyObject* forget(PyObject* self, PyObject* winner) {
  for (const auto& layout : *reinterpret_cast<Hits*>(self)->layouts) {
    const Ref items(PyDict_Items(layout->table.get()));
    if (!items) return nullptr;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
      PyObject* item = PyList_GET_ITEM(items.get(), i);
      const int same = PyObject_RichCompareBool(field(PyTuple_GET_ITEM(item, 1), kKey), winner, Py_EQ);
      if (same < 0) return nullptr;
      if (same && PyDict_DelItem(layout->table.get(), PyTuple_GET_ITEM(item, 0)) < 0) PyErr_Clear();
    }
  }
  Py_RETURN_NONE;
}

PyObject* count(PyObject* self, PyObject*) {
  Py_ssize_t total = 0;
  for (const auto& layout : *reinterpret_cast<Hits*>(self)->layouts) {
    total += PyDict_GET_SIZE(layout->table.get());
  }
  return PyLong_FromSsize_t(total);
}

// The types are immutable but for tables and `touch`, so that, like tuples, they need no tp_clear.

PyObject* make_launch(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "launcher() takes a tuner and a grid");
    return nullptr;
  }
  auto* made = PyObject_GC_New(Launch, launch_type);
  if (!made) return nullptr;
  made->vectorcall = call_launch;
  for (PyObject* each : {self, args[0], args[1]}) Py_INCREF(each);
  made->hits = self;
  made->tuner = args[0];
  made->grid = args[1];
  PyObject_GC_Track(made);
  return reinterpret_cast<PyObject*>(made);
}

int traverse_launch(PyObject* self, visitproc visit, void* arg) {
  auto& launch = *reinterpret_cast<Launch*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(launch.hits);
  Py_VISIT(launch.tuner);
  Py_VISIT(launch.grid);
  return 0;
}

void free_launch(PyObject* self) {
  auto& launch = *reinterpret_cast<Launch*>(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  for (PyObject* each : {launch.hits, launch.tuner, launch.grid}) Py_DECREF(each);
  type->tp_free(self);
  Py_DECREF(type);
}

std::array<PyObject*, 8> references(const Hits& hits) {
  return {hits.driver, hits.active,    hits.current_device, hits.keys,
          hits.run,    hits.subscript, hits.touch,          hits.kernel};
}

int traverse_hits(PyObject* self, visitproc visit, void* arg) {
  const auto& hits = *reinterpret_cast<Hits*>(self);
  Py_VISIT(Py_TYPE(self));
  for (PyObject* each : references(hits)) Py_VISIT(each);
  for (const auto& layout : *hits.layouts) Py_VISIT(layout->table.get());
  return 0;
}

void free_hits(PyObject* self) {
  auto& hits = *reinterpret_cast<Hits*>(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  for (PyObject* each : references(hits)) Py_XDECREF(each);
  delete hits.layouts;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* new_hits(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  PyObject *driver, *active, *current_device, *keys, *run, *subscript;
  static const char* arguments[] = {"driver", "active",    "current_device", "keys",
                                    "run",    "subscript", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOOOO", const_cast<char**>(arguments), &driver, &active,
                                   &current_device, &keys, &run, &subscript)) {
    return nullptr;
  }
  auto layouts = std::make_unique<std::vector<std::unique_ptr<Layout>>>();
  layouts->reserve(kMaxLayouts);
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  auto& hits = *reinterpret_cast<Hits*>(self);
  for (PyObject* each : {driver, active, current_device, keys, run, subscript, Py_None}) Py_INCREF(each);
  hits.vectorcall = call_hits;
  hits.driver = driver;
  hits.active = active;
  hits.current_device = current_device;
  hits.keys = keys;
  hits.run = run;
  hits.subscript = subscript;
  hits.touch = Py_None;
  hits.layouts = layouts.release();
  return self;
}

PyMethodDef hits_methods[] = {
    {"launcher", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(make_launch)), METH_FASTCALL,
     "launcher(tuner, grid): what tuner[grid] returns."},
    {"learn", learn, METH_VARARGS,
     "learn(args, keywords, device, limit, parts, hit): whether the call is a hit now."},
    {"forget", forget, METH_O, "forget(key): drops all hits on the winner with this key."},
    {"count", count, METH_NOARGS, "count(): how many calls are hits."},
    {}};

PyMemberDef hits_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Hits, vectorcall), READONLY, nullptr},
    {"active", T_OBJECT, offsetof(Hits, active), READONLY, "The driver for which the hits hold."},
    {"touch", T_OBJECT, offsetof(Hits, touch), 0,
     "Called with the key of each winner that is used, unless None."},
    {}};

PyMemberDef launch_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Launch, vectorcall), READONLY, nullptr}, {}};

template <class Function>
PyType_Slot slot(int which, Function function) {
  return {which, reinterpret_cast<void*>(function)};
}

constexpr unsigned long kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;

PyObject* make_hits_type() {
  PyType_Slot slots[] = {slot(Py_tp_new, new_hits),
                         slot(Py_tp_dealloc, free_hits),
                         slot(Py_tp_traverse, traverse_hits),
                         slot(Py_tp_call, PyVectorcall_Call),
                         slot(Py_tp_methods, hits_methods),
                         slot(Py_tp_members, hits_members),
                         {0, nullptr}};
  PyType_Spec spec = {"triton_ascend_tune._native.Hits", sizeof(Hits), 0, kFlags, slots};
  return PyType_FromSpec(&spec);
}

PyObject* make_launch_type() {
  PyType_Slot slots[] = {slot(Py_tp_dealloc, free_launch),
                         slot(Py_tp_traverse, traverse_launch),
                         slot(Py_tp_call, PyVectorcall_Call),
                         slot(Py_tp_members, launch_members),
                         {0, nullptr}};
  PyType_Spec spec = {"triton_ascend_tune._native.Launch", sizeof(Launch), 0, kFlags, slots};
  return PyType_FromSpec(&spec);
}

}  // namespace

bool add_dispatch(PyObject* module) {
  const Ref hits(make_hits_type());
  launch_type = reinterpret_cast<PyTypeObject*>(make_launch_type());
  if (launch_type) launch_type->tp_new = nullptr;  // only tuner[grid] makes them
  return hits && launch_type && intern_names() && PyObject_SetAttrString(module, "Hits", hits.get()) == 0;
}

}  // namespace tat
