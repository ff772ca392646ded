# The fields of memos as C has them, and the types of the methods that a step calls.

cimport cython

cdef int NONE, _INT, _CELL, _TUPLE, _OBJECT, _CELL_BITS, _LARGEST
cdef long long _MAX_TOKEN
cdef unsigned long long _SEED, _PRIME, _BITS
cdef object _serials

cdef unsigned long long _mixed(unsigned long long key, long long value) noexcept nogil
@cython.locals(key="unsigned long long", place=int)
cdef unsigned long long _hash(const int[::1] data, int start, int n) noexcept nogil
cdef int _number(object value, list values, dict numbers) except -1


cdef class Sequences:
    cdef public int length
    cdef public int[::1] items
    cdef public int[::1] offsets
    cdef public int[::1] slots
    cdef public int[::1] values

    @cython.locals(slots="int[::1]", most="unsigned long long", slot="unsigned long long", number=int)
    cpdef int find(self, const int[::1] data, int n) noexcept
    @cython.locals(key="unsigned long long", most="unsigned long long", slot="unsigned long long", number=int, length=int)
    cdef int find_beginning(self, const int[::1] data, int n, bytearray lengths) noexcept
    @cython.locals(start=int, place=int)
    cdef bint _is_at(self, int number, const int[::1] data, int n) noexcept
    @cython.locals(start=int, number=int, place=int)
    cpdef int add(self, const int[::1] data, int n) except -2
    @cython.locals(slots="int[::1]", most="unsigned long long", slot="unsigned long long", number=int)
    cpdef int find_pair(self, int first, int second) noexcept
    @cython.locals(number=int)
    cpdef int add_pair(self, int first, int second, int value) except -2
    @cython.locals(number=int)
    cdef int _added(self, int end, int value) except -2
    @cython.locals(start=int, most="unsigned long long", slot="unsigned long long")
    cdef int _lead_to(self, int[::1] slots, int[::1] items, int number) except -2
    @cython.locals(n_rows=int, n_items=int, end=int)
    cdef int _make_room(self, int n) except -2
    @cython.locals(number=int, new_items="int[::1]", new_offsets="int[::1]", new_values="int[::1]", new_slots="int[::1]")
    cdef int _allocate(self, int n_rows, int n_items, int n_slots) except -2


cdef class Writer:
    cdef list _objects
    cdef dict _number_of_object
    cdef int[::1] _data
    cdef int _n

    cdef int _put(self, int value, int kind) except -2
    cdef int _put_object(self, object value) except -2


cdef class Entries(Writer):
    cdef public list values
    cdef Sequences _paths
    cdef bytearray _lengths

    cpdef int find(self, tuple path) except -2
    cdef int _write(self, tuple path, bint is_new) except -2
    @cython.locals(number=int)
    cpdef int add(self, tuple path, object value) except -2
    @cython.locals(number=int, place=int)
    cdef int _fill(self, const int[::1] items, const int[::1] offsets, int n) except -2


cdef class Memo(Writer):
    cdef object _lock
    cdef long long _serial
    cdef Sequences _cells
    cdef Sequences _configurations
    cdef Sequences _steps
    cdef public list are_sentences
    cdef public list are_at_end
    cdef public list subsets
    cdef public bint is_full
    cdef list _types
    cdef dict _number_of_type

    cdef bint _is_full(self) except -1
    cdef int _add(self, object configuration) except -2
    cdef int _write(self, object value) except -2
    @cython.locals(written=int, kind=int, value=int, n=int, parts=tuple)
    cdef object _read(self)
    @cython.locals(cell=int, new=list)
    cdef int _cell(self, object stack) except -2
    @cython.locals(states=list)
    cdef object _stack(self, int cell)


cdef class Step:
    cdef public Memo memo
    cdef public int number
    cdef public int token_id
    cdef public bint is_end
    cdef public object rest
    cdef object _configuration
    cdef tuple _before

    @cython.locals(place=int)
    cpdef Step after(self, object token_id)
    cpdef Step ended(self, int token_id)


@cython.locals(step=Step)
cdef Step _made(Memo memo, int number, int token_id, object configuration, object before)
