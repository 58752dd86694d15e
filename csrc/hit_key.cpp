#include "hit_key.h"

#include <utility>

namespace tat {

Names names;

bool intern_names() {
  const std::pair<PyObject**, const char*> wanted[] = {
      {&names.active, "active"},     {&names.best_config, "best_config"},
      {&names.cache, "cache"},       {&names.configs, "configs"},
      {&names.data_ptr, "data_ptr"}, {&names.dict, "__dict__"},
      {&names.dtype, "dtype"},       {&names.fn, "fn"},
      {&names.general, "_general"},  {&names.grid, "grid"},
      {&names.keys, "keys"},         {&names.result, "result"},
      {&names.run, "run"},           {&names.warmup, "warmup"}};
  for (const auto& [place, text] : wanted) {
    if (!(*place = PyUnicode_InternFromString(text))) return false;
  }
  return true;
}

bool Call::take(PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  const Py_ssize_t keyword_count = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  if (count + keyword_count + 2 > kMaxArguments) return false;
  positional = count;
  for (Py_ssize_t i = 0; i < count; ++i) stack[i + 1] = args[i];
  for (Py_ssize_t i = 0; i < keyword_count; ++i) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, i);
    if (!PyUnicode_CHECK_INTERNED(name)) return false;
    if (name == names.grid) {
      grid = args[count + i];
    } else if (name == names.warmup) {
      warmup = args[count + i];
    } else {
      keywords[named] = name;
      stack[++named + count] = args[count + i];
    }
  }
  return true;
}

bool Call::follows(const Layout& layout) const {
  if (layout.positional != positional || PyTuple_GET_SIZE(layout.keywords.get()) != named) return false;
  for (Py_ssize_t i = 0; i < named; ++i) {
    if (PyTuple_GET_ITEM(layout.keywords.get(), i) != keywords[i]) return false;
  }
  return true;
}

namespace {

bool is_plain(PyObject* value) {
  return value == Py_None || PyLong_CheckExact(value) || PyBool_Check(value) || PyFloat_CheckExact(value) ||
         PyUnicode_CheckExact(value);
}

// The part of a key for `value`; null, with or without an exception, if only the general path can tell.
Ref part_of(PyObject* value, Source source) {
  switch (source) {
    case Source::kDtype:
      if (value == Py_None) return Ref::borrowed(Py_True);
      if (is_plain(value)) return Ref::borrowed(Py_False);
      if (Ref dtype{PyObject_GetAttr(value, names.dtype)}) return dtype;
      if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return Ref();
      PyErr_Clear();
      return Ref::borrowed(Py_False);
    case Source::kValue:
      return is_plain(value) || !PyObject_HasAttr(value, names.data_ptr) ? Ref::borrowed(value) : Ref();
    case Source::kConstexpr:
      return Ref::borrowed(value);
    case Source::kInteger:
      return PyLong_CheckExact(value) ? Ref::borrowed(value) : Ref();
    case Source::kOption:  // True and 1 are equal, their texts are not
      if (value == Py_True) return Ref::borrowed(Py_Ellipsis);
      if (value == Py_False) return Ref::borrowed(Py_NotImplemented);
      return is_plain(value) && !PyFloat_CheckExact(value) ? Ref::borrowed(value) : Ref();
  }
  return Ref();
}

}  // namespace

Ref Layout::key(const Call& call, PyObject* device) const {
  const auto count = static_cast<Py_ssize_t>(parts.size());
  Ref key(PyTuple_New(count + 1));
  if (!key) return key;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Part& part = parts[static_cast<std::size_t>(i)];
    Ref value = part_of(call.stack[static_cast<std::size_t>(part.place) + 1], part.source);
    if (!value) return value;
    PyTuple_SET_ITEM(key.get(), i, value.release());
  }
  Py_INCREF(device);
  PyTuple_SET_ITEM(key.get(), count, device);
  return key;
}

std::unique_ptr<Layout> Layout::make(const Call& call, PyObject* parts) {
  if (!PyTuple_Check(parts)) {
    PyErr_SetString(PyExc_TypeError, "parts must be a tuple of pairs");
    return nullptr;
  }
  auto layout = std::make_unique<Layout>();
  layout->positional = call.positional;
  layout->keywords = Ref(PyTuple_New(call.named));
  layout->table = Ref(PyDict_New());
  if (!layout->keywords || !layout->table) return nullptr;
  for (Py_ssize_t i = 0; i < call.named; ++i) {
    Py_INCREF(call.keywords[i]);
    PyTuple_SET_ITEM(layout->keywords.get(), i, call.keywords[i]);
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts); ++i) {
    Py_ssize_t place;
    long source;
    PyObject* part = PyTuple_GET_ITEM(parts, i);
    if (!PyTuple_Check(part)) {
      PyErr_SetString(PyExc_TypeError, "a part must be a pair of ints");
      return nullptr;
    }
    if (!PyArg_ParseTuple(part, "nl", &place, &source)) return nullptr;
    if (place < 0 || place >= call.positional + call.named || source < 0 || source >= kSources) {
      PyErr_Format(PyExc_ValueError, "part (%zd, %ld) of a call with %zd arguments", place, source,
                   call.positional + call.named);
      return nullptr;
    }
    layout->parts.push_back({place, static_cast<Source>(source)});
  }
  return layout;
}

}  // namespace tat
