"""Functions of PostgreSQL that a query may call, if no others are given.

They only compute: none reads files or settings, waits, locks, draws numbers from a sequence or runs
a text as SQL. Those with a syntax of their own, such as COALESCE and EXTRACT, are keywords.
"""

from __future__ import annotations

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
