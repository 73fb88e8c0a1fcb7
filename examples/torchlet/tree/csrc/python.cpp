#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef USE_NUMPY
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>
#endif

#include <stdexcept>

#include "torchlet.h"

namespace {

using torchlet::Matrix;

// An owned reference: every early return lets go of it.
class Reference {
 public:
  explicit Reference(PyObject* object) : object_(object) {}
  ~Reference() { Py_XDECREF(object_); }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  PyObject* get() const { return object_; }
  PyObject* release() {
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_;
};

bool read_row(PyObject* object, Matrix& matrix) {
  const Reference row(PySequence_Fast(object, "a matrix is a sequence of rows of numbers"));
  if (!row) {
    return false;
  }
  const auto columns = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(row.get()));
  if (matrix.rows != 0 && columns != matrix.columns) {
    PyErr_SetString(PyExc_ValueError, "the rows of a matrix are equally long");
    return false;
  }
  for (std::size_t i = 0; i < columns; ++i) {
    const double value =
        PyFloat_AsDouble(PySequence_Fast_GET_ITEM(row.get(), static_cast<Py_ssize_t>(i)));
    if (value == -1.0 && PyErr_Occurred()) {
      return false;
    }
    matrix.values.push_back(value);
  }
  matrix.columns = columns;
  ++matrix.rows;
  return true;
}

bool read_matrix(PyObject* object, Matrix& matrix) {
  const Reference rows(PySequence_Fast(object, "a matrix is a sequence of rows of numbers"));
  if (!rows) {
    return false;
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(rows.get()); ++i) {
    if (!read_row(PySequence_Fast_GET_ITEM(rows.get(), i), matrix)) {
      return false;
    }
  }
  return true;
}

PyObject* make_list(const double* values, std::size_t rows, std::size_t columns) {
  Reference list(PyList_New(static_cast<Py_ssize_t>(rows)));
  for (std::size_t i = 0; list && i < rows; ++i) {
    Reference row(PyList_New(static_cast<Py_ssize_t>(columns)));
    for (std::size_t j = 0; row && j < columns; ++j) {
      PyObject* value = PyFloat_FromDouble(values[i * columns + j]);
      if (value == nullptr) {
        return nullptr;
      }
      PyList_SET_ITEM(row.get(), static_cast<Py_ssize_t>(j), value);
    }
    if (!row) {
      return nullptr;
    }
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), row.release());
  }
  return list.release();
}

template <Matrix multiply(const Matrix&, const Matrix&)>
PyObject* matmul(PyObject*, PyObject* arguments) {
  PyObject* left = nullptr;
  PyObject* right = nullptr;
  Matrix a;
  Matrix b;
  if (!PyArg_ParseTuple(arguments, "OO", &left, &right) || !read_matrix(left, a) ||
      !read_matrix(right, b)) {
    return nullptr;
  }
  try {
    const Matrix product = multiply(a, b);
    return make_list(product.values.data(), product.rows, product.columns);
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* numpy_missing() {
  PyErr_SetString(PyExc_RuntimeError, "Numpy is not available");
  return nullptr;
}

#ifdef USE_NUMPY
PyObject* from_numpy(PyObject*, PyObject* object) {
  // Imported on first use: the wheel works where NumPy is not installed.
  if (PyArray_API == nullptr && _import_array() < 0) {
    return numpy_missing();
  }
  if (!PyArray_Check(object)) {
    PyErr_Format(PyExc_TypeError, "expected np.ndarray (got %s)", Py_TYPE(object)->tp_name);
    return nullptr;
  }
  const Reference owner(PyArray_FROMANY(object, NPY_DOUBLE, 2, 2, NPY_ARRAY_CARRAY_RO));
  if (!owner) {
    return nullptr;
  }
  auto* array = reinterpret_cast<PyArrayObject*>(owner.get());
  return make_list(static_cast<const double*>(PyArray_DATA(array)),
                   static_cast<std::size_t>(PyArray_DIM(array, 0)),
                   static_cast<std::size_t>(PyArray_DIM(array, 1)));
}
#else
PyObject* from_numpy(PyObject*, PyObject*) { return numpy_missing(); }
#endif

PyObject* show_config(PyObject*, PyObject*) {
  return PyUnicode_FromString(torchlet::show_config().c_str());
}

#if defined(USE_CUDA) || defined(USE_SYSTEM_NCCL) || defined(USE_MPI)
template <int version()>
PyObject* number(PyObject*, PyObject*) {
  return PyLong_FromLong(version());
}
#endif

#ifdef USE_CUDA
PyObject* cuda_arch_flags(PyObject*, PyObject*) {
  return PyUnicode_FromString(TORCHLET_CUDA_ARCH_FLAGS);
}
#endif

// A feature that was not built has no function, as in the modules this one stands in for.
PyMethodDef methods[] = {
    {"_matmul", matmul<torchlet::matmul>, METH_VARARGS, nullptr},
    {"_from_numpy", from_numpy, METH_O, nullptr},
    {"_show_config", show_config, METH_NOARGS, nullptr},
#ifdef USE_CUDA
    {"_cuda_matmul", matmul<torchlet::cuda_matmul>, METH_VARARGS, nullptr},
    {"_cuda_getCompiledVersion", number<torchlet::cuda_compiled_version>, METH_NOARGS, nullptr},
    {"_cuda_getArchFlags", cuda_arch_flags, METH_NOARGS, nullptr},
#endif
#ifdef USE_SYSTEM_NCCL
    {"_nccl_version", number<torchlet::nccl_version>, METH_NOARGS, nullptr},
#endif
#ifdef USE_MPI
    {"_mpi_version", number<torchlet::mpi_version>, METH_NOARGS, nullptr},
#endif
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "torchlet._C", nullptr, 0, methods, nullptr, nullptr, nullptr, nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__C() { return PyModuleDef_Init(&module); }
