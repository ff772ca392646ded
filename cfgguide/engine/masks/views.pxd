# The fields of the views as C reads them; those of `arrays.py`, in the same order.

cdef class _View:
    pass


cdef class TablesView(_View):
    cdef public const int[:, ::1] transitions
    cdef public const int[::1] byte_classes
    cdef public const int[::1] match
    cdef public const int[:, ::1] assertions
    cdef public const unsigned char[::1] is_assertion
    cdef public const signed char[::1] kind
    cdef public const unsigned char[::1] is_start
    cdef public const int[::1] equivalence_classes
    cdef public const int[::1] class_representatives
    cdef public const int[:, ::1] starts
    cdef public const int[:, ::1] contexts
    cdef public const unsigned long long[::1] stays
    cdef public const unsigned long long[::1] context_stays
    cdef public const int[::1] set_of_state
    cdef public const int[:, ::1] action
    cdef public const int[:, ::1] goto
    cdef public const int[::1] lengths
    cdef public const int[::1] left_sides
    cdef public int ignored
    cdef public int end_state
    cdef public long long max_reductions
    cdef public bint is_general
    cdef public const int[:, ::1] choices
    cdef public const int[::1] choice_productions
    cdef public const unsigned char[::1] is_idle
    cdef public const int[::1] end_offsets
    cdef public const int[::1] end_terminal_ids
    cdef public const int[::1] end_groups
    cdef public const unsigned char[::1] is_certain
    cdef public const unsigned char[::1] is_letter
    cdef public const unsigned char[:, ::1] is_always_live
    cdef public bint has_indentation
    cdef public const signed char[::1] roles
    cdef public const signed char[::1] places
    cdef public const signed char[::1] byte_kinds
    cdef public const unsigned char[::1] is_followed
    cdef public const unsigned char[::1] is_counted
    cdef public const unsigned char[::1] is_free
    cdef public const unsigned char[:, ::1] is_live_after_newline
    cdef public int newline
    cdef public int indent
    cdef public int dedent
    cdef public int tab
    cdef public int max_brackets
    cdef public int max_indents
    cdef public int max_digits


cdef class TrieView(_View):
    cdef public const int[:, ::1] nodes
    cdef public const int[::1] token_ids
    cdef public int n_roots
    cdef public const int[::1] row_of_token
    cdef public const int[::1] row_ends
    cdef public const unsigned int[:, ::1] rows


cdef class BaseView(_View):
    cdef public const int[::1] numbers
    cdef public const int[::1] parse_states
    cdef public const int[::1] offsets
    cdef public const int[::1] scanner_states
    cdef public const int[::1] obligations
    cdef public const int[::1] obligation_offsets
    cdef public const long long[::1] indentations
    cdef public const int[::1] columns
    cdef public const int[::1] column_parents
    cdef public const int[::1] column_depths


cdef class WorkspaceView(_View):
    cdef public int[::1] cell_state
    cdef public int[::1] cell_parent
    cdef public int[::1] first_child
    cdef public int[::1] next_sibling
    cdef public int[::1] cell_home
    cdef public int[:, ::1] shifts
    cdef public int[::1] several
    cdef public int[::1] tops
    cdef public int[::1] searched
    cdef public int[::1] frame_n
    cdef public int[::1] frame_context
    cdef public int[::1] next_node
    cdef public int[::1] end_node
    cdef public unsigned char[::1] frame_is_plain
    cdef public unsigned long long[::1] below
    cdef public unsigned long long[::1] frame_stays
    cdef public int[:, ::1] frame_state
    cdef public int[:, ::1] frame_cell
    cdef public long long[:, ::1] frame_indentation
    cdef public int[:, ::1] frame_n_obligations
    cdef public int[:, :, ::1] frame_obligations
    cdef public int[::1] open_state
    cdef public int[::1] open_n_obligations
    cdef public int[::1] open_n_tasks
    cdef public int[:, ::1] open_obligations
    cdef public int[:, ::1] open_task
    cdef public int[::1] outcome_n
    cdef public int[::1] outcome_context
    cdef public int[:, ::1] outcome_state
    cdef public int[:, ::1] outcome_cell
    cdef public long long[:, ::1] outcome_indentation
    cdef public int[:, ::1] outcome_n_obligations
    cdef public int[:, :, ::1] outcome_obligations
    cdef public int[::1] outcome_hash
    cdef public signed char[::1] verdicts
    cdef public int[::1] segment_start
    cdef public int[::1] segment_end
    cdef public int[::1] segment_outcome
    cdef public int[:, ::1] live_ranges
    cdef public int[::1] inspected
    cdef public int[::1] counts
    cdef public int[::1] column
    cdef public int[::1] column_parent
    cdef public int[::1] column_depth


cdef class EffectSpaceView(_View):
    cdef public int first
    cdef public int same_contexts
    cdef public int no_column
    cdef public int first_column
    cdef public int n_needed
    cdef public const int[::1] states
    cdef public const int[::1] lexeme_starts
    cdef public const int[::1] owed
    cdef public const int[::1] owed_as
    cdef public const int[:, ::1] moves
    cdef public const signed char[::1] acts
    cdef public const unsigned char[::1] is_newline
    cdef public int[::1] items
    cdef public int[::1] offsets
    cdef public int[::1] hashes
    cdef public int[::1] slots
    cdef public long long[:, ::1] known
    cdef public int[:, ::1] marks
    cdef public int[::1] scratch
    cdef public int[:, ::1] jobs
    cdef public int[:, ::1] alternatives
    cdef public int[::1] possible
    cdef public int[::1] landed
    cdef public int[:, ::1] effects
    cdef public int[::1] effect_numbers
    cdef public int[::1] effect_of_node
    cdef public int[::1] effect_of_token
    cdef public int[::1] counts
