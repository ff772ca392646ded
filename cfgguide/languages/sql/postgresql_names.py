r"""How PostgreSQL writes names: a dialect of :mod:`cfgguide.languages.sql.name_roles`.

In: names. Out: their roles, for the rules that `grammars/postgresql_schema.lark` leaves open. ::

    _column: COLUMN_NAME | TABLE_OR_COLUMN_NAME | ALIAS_NAME | TIME
    COLUMN_NAME: /(?ai:id|name)(?![...])|\x22(?:Name|id|name|time)\x22(?!\x22)/

A name without quotes is read in lower case, so one with capitals needs them. What a keyword needs
depends on its kind (PostgreSQL's documentation, appendix C): a reserved one is a name in quotes, or
after a dot; one that may not name functions and types names columns and tables. Those with a
terminal are no new names without AS, where operators and clauses may stand. Where an expression may
begin with such a word, as with TIME, the rules name its terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from cfgguide.grammar.grammar import Grammar
from cfgguide.languages.sql.name_patterns import folding_patterns, is_folded_word
from cfgguide.languages.sql.name_roles import NO_ROLE, Dialect, Role, Roles
from cfgguide.languages.sql.name_sets import listed_words

TYPES = (
    *("bool", "bpchar", "bytea", "cidr", "date", "daterange", "float4", "float8", "inet", "int2"),
    *("int4", "int4range", "int8", "int8range", "jsonb", "jsonpath", "macaddr", "money", "name"),
    *("numrange", "oid", "point", "regclass", "regtype", "text", "timestamptz", "timetz"),
    *("tsquery", "tsrange", "tstzrange", "tsvector", "uuid"),
)
COLLATIONS = ("C", "POSIX", "default", "ucs_basic")
# What EXTRACT takes, but for those that are keywords of the grammar.
_FIELDS = (
    *("century", "decade", "dow", "doy", "epoch", "isodow", "isoyear", "julian", "microseconds"),
    *("millennium", "milliseconds", "quarter", "timezone", "timezone_hour", "timezone_minute"),
    "week",
)
_ARGUMENTS = {"make_interval": ("years", "months", "weeks", "days", "hours", "mins", "secs")}
# Functions that a query may call, if no others are given. They only compute: none reads files or
# settings, waits, locks, draws numbers from a sequence or runs a text as SQL. Those with a syntax
# of their own, such as COALESCE and EXTRACT, are keywords.
_NUMBERS = """
    abs acos asin atan atan2 cbrt ceil ceiling cos cot degrees div exp factorial floor gcd lcm ln
    log log10 mod pi power radians random round scale sign sin sqrt tan trim_scale trunc
    width_bucket
"""
_TEXTS = """
    ascii btrim char_length character_length chr concat concat_ws convert_from convert_to decode
    encode format initcap left length lower lpad ltrim md5 octet_length quote_ident quote_literal
    quote_nullable regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace
    regexp_split_to_array regexp_split_to_table regexp_substr repeat replace reverse right rpad
    rtrim sha256 split_part starts_with string_to_array string_to_table strpos substr to_hex
    translate unistr upper
"""
_TIMES = """
    age clock_timestamp date_bin date_part date_trunc isfinite justify_days justify_hours
    justify_interval make_date make_interval make_time make_timestamp make_timestamptz now
    statement_timestamp timezone to_char to_date to_number to_timestamp transaction_timestamp
"""
_AGGREGATES = """
    array_agg avg bit_and bit_or bool_and bool_or corr count covar_pop covar_samp every json_agg
    json_object_agg jsonb_agg jsonb_object_agg max min mode percentile_cont percentile_disc
    range_agg regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope stddev stddev_pop
    stddev_samp string_agg sum var_pop var_samp variance
"""
_WINDOWS = """
    cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank
    row_number
"""
_ARRAYS = """
    array_append array_cat array_dims array_fill array_length array_lower array_ndims
    array_position array_positions array_prepend array_remove array_replace array_to_string
    array_upper cardinality generate_series generate_subscripts num_nonnulls num_nulls trim_array
    unnest
"""
_JSON = """
    array_to_json json_array_elements json_array_elements_text json_array_length json_build_array
    json_build_object json_each json_each_text json_extract_path json_extract_path_text
    json_object_keys json_populate_record json_populate_recordset json_strip_nulls json_to_record
    json_to_recordset json_typeof jsonb_array_elements jsonb_array_elements_text jsonb_array_length
    jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path
    jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_keys jsonb_path_exists
    jsonb_path_match jsonb_path_query jsonb_path_query_array jsonb_path_query_first
    jsonb_populate_record jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_to_record
    jsonb_to_recordset jsonb_typeof row_to_json to_json to_jsonb
"""
_OTHERS = """
    date daterange gen_random_uuid int4range int8range isempty lower_inc lower_inf numrange
    phraseto_tsquery plainto_tsquery range_merge text to_tsquery to_tsvector ts_headline ts_rank
    ts_rank_cd tsrange tstzrange upper_inc upper_inf websearch_to_tsquery
"""

FUNCTIONS = tuple(
    sorted(
        " ".join((_NUMBERS, _TEXTS, _TIMES, _AGGREGATES, _WINDOWS, _ARRAYS, _JSON, _OTHERS)).split()
    )
)
# The columns of functions that are used as tables.
_ELEMENTS = {
    **dict.fromkeys(("json_each", "json_each_text", "jsonb_each"), ("key", "value")),
    "jsonb_each_text": ("key", "value"),
    **dict.fromkeys(("json_array_elements", "json_array_elements_text"), ("value",)),
    **dict.fromkeys(("jsonb_array_elements", "jsonb_array_elements_text"), ("value",)),
}
_FUNCTION_WORDS = {"left": "LEFT", "right": "RIGHT"}  # keywords that are functions
# Keywords that stand only where postgresql_schema.lark leaves them out.
_UNUSED = re.compile(r"MERGE_ACTION|TREAT|XML\w+")
_KNOWN = Role.ALIAS | Role.LABEL
_AFTER_DOT = Role.COLUMN | _KNOWN | Role.ELEMENT

# The rules that postgresql_schema.lark leaves open, and the roles of the names allowed there.
_PLACES = {
    "_table_to_read": Role.TABLE | _KNOWN,
    "_written_table": Role.TABLE,
    "_column": Role.COLUMN | _KNOWN,
    "_qualifier": Role.TABLE | _KNOWN,
    "_qualified_column": _AFTER_DOT | Role.DOTTED,
    "_excluded": Role.EXCLUDED,
    "_written_column": Role.COLUMN,
    "_any_column": Role.COLUMN | _KNOWN,
    "_new": Role.ALIAS,
    "_labelled_name": _KNOWN,
    "_known_window": _KNOWN,
    "%override _function": Role.FUNCTION,
    "_argument_name": Role.ARGUMENT,
    "_type_name": Role.TYPE,
    "_collation": Role.COLLATION,
    "%override _field": Role.FIELD,
}
_FIELD_TERMINALS = ("STRING", "YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


@dataclass(frozen=True)
class _Keywords:
    """PostgreSQL's keywords, in lower case, by what they may name without quotes."""

    reserved: frozenset[str]
    no_functions: frozenset[str]
    clauses: frozenset[str]  # not reserved, and of the grammar's terminals
    in_expressions: Mapping[str, str]  # and their terminals, of all kinds but the reserved ones

    def plain(self, name: str, role: Role) -> Role:
        """Return the roles in which a name needs no quotes, but for its terminal as a keyword."""
        if not is_folded_word(name):
            return NO_ROLE
        if name in self.in_expressions or name in self.reserved:
            return Role.DOTTED if role & _AFTER_DOT else NO_ROLE
        if name in self.no_functions:
            role &= ~(Role.FUNCTION | Role.TYPE)
        if name in self.clauses and role & Role.ALIAS:
            return role & ~Role.ALIAS | Role.LABEL
        return role


@cache
def _keywords() -> _Keywords:
    text = Grammar.bundled("postgresql").text
    reserved = listed_words("postgresql", "RESERVED.1")
    spelled = dict(re.findall(r"^(\w+)\.3: /\(\?ai:(\w+)\)", text, re.MULTILINE))
    rule = re.search(r"^_column_keyword:\s*([A-Z_]+(?:\s*\|\s*[A-Z_]+)+)", text, re.MULTILINE)
    assert rule is not None
    terminals = [name for name in re.findall(r"\w+", rule[1]) if not _UNUSED.fullmatch(name)]
    return _Keywords(
        reserved,
        listed_words("postgresql", "COLUMN_WORD.1"),
        frozenset(spelled.values()) - reserved,
        {spelled[name]: name for name in terminals},
    )


@cache
def dialect() -> Dialect:
    """Return how PostgreSQL writes names."""
    keywords = _keywords()
    return Dialect(
        part="postgresql_schema",
        places=_PLACES,
        plain=keywords.plain,
        quoted=lambda role: role,
        patterns=folding_patterns,
        keywords=[
            (Role.TABLE | Role.COLUMN, keywords.in_expressions),
            (Role.FUNCTION, _FUNCTION_WORDS),
        ],
        constants={"%override _field": _FIELD_TERMINALS},
    )


def roles_of(
    tables: Mapping[str, Iterable[str]], aliases: Iterable[str], functions: Iterable[str]
) -> Roles:
    """Return the roles of each name."""
    called = sorted(set(functions))
    named: list[tuple[Role, Iterable[str]]] = [
        (Role.TABLE, tables),
        (Role.COLUMN, [column for columns in tables.values() for column in columns]),
        (Role.ALIAS, aliases),
        (Role.FUNCTION, called),
        (Role.ELEMENT, ["ordinality"]),
        *((Role.ELEMENT, _ELEMENTS.get(name, ())) for name in called),
        *((Role.ARGUMENT, _ARGUMENTS.get(name, ())) for name in called),
        (Role.TYPE, TYPES),
        (Role.COLLATION, COLLATIONS),
        (Role.FIELD, _FIELDS),
    ]
    return dialect().roles(named)
