# What `copy_rows` calls where it is compiled: it takes the addresses of rows, and copies them while
# other threads run.

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_STRIDED, PyBUF_WRITABLE
from cpython.buffer cimport PyBuffer_Release, PyObject_GetBuffer
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset


cdef struct Row:
    const void* words
    Py_ssize_t n_bytes


cdef inline int copy_compiled(list rows, object out) except -1:
    """Copy rows that stay as they are and fit; `out` has an axis of rows, then one of words."""
    cdef Py_ssize_t number, n_rows = len(rows), width, stride
    cdef Py_buffer view
    cdef char* start
    cdef Row* found = <Row*> malloc((n_rows + 1) * sizeof(Row))
    if not found:
        raise MemoryError
    try:
        for number in range(n_rows):
            PyObject_GetBuffer(rows[number], &view, PyBUF_SIMPLE)
            found[number].words, found[number].n_bytes = view.buf, view.len
            PyBuffer_Release(&view)  # the list holds the row
        PyObject_GetBuffer(out, &view, PyBUF_STRIDED | PyBUF_WRITABLE)
        start, stride = <char*> view.buf, view.strides[0]
        width = view.shape[1] * view.itemsize
        with nogil:
            for number in range(n_rows):
                memcpy(start, found[number].words, found[number].n_bytes)
                memset(start + found[number].n_bytes, 0, width - found[number].n_bytes)
                start += stride
        PyBuffer_Release(&view)
    finally:
        free(found)
    return 0


cpdef copy_rows(list rows, object out)
