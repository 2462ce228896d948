"""The functions of SQL++ that the embedded engine knows, and what they are there.

Positions count from 0 in SQL++ and from 1 in DuckDB. A function that is in no table is refused by its name.
"""

from __future__ import annotations

__all__ = ["AGGREGATES", "FUNCTIONS", "duckdb_function"]

AGGREGATES = frozenset(
    "count sum avg min max array_agg stddev stddev_samp stddev_pop variance var_samp var_pop median".split()
)

_SAME = (
    "lower upper trim ltrim rtrim length replace concat repeat reverse abs ceil floor round power sqrt exp ln sign "
    "greatest least coalesce nullif degrees radians sin cos tan asin acos atan atan2 pi mod"
).split()

_RENAMED = {
    "array_length": "len({0})",
    "array_contains": "list_contains({0}, {1})",
    "array_count": "len(list_filter({0}, lambda sqlpp_x: sqlpp_x IS NOT NULL))",
    "array_sum": "list_sum({0})",
    "array_avg": "list_avg({0})",
    "array_min": "list_min({0})",
    "array_max": "list_max({0})",
    "array_distinct": "list_distinct({0})",
    "array_append": "list_append({0}, {1})",
    "array_prepend": "list_prepend({0}, {1})",
    "array_concat": "list_concat({0}, {1})",
    "array_flatten": "flatten({0})",
    "array_position": "coalesce(list_position({0}, {1}), 0) - 1",
    "array_reverse": "list_reverse({0})",
    "array_sort": "list_sort({0})",
    "array_intersect": "list_intersect({0}, {1})",
    "array_union": "list_distinct(list_concat({0}, {1}))",
    "array_remove": "list_filter({0}, lambda sqlpp_x: sqlpp_x <> {1})",
    "array_range": "range({0}, {1})",
    "object_names": "json_keys(to_json({0}))",
    "object_length": "len(json_keys(to_json({0})))",
    "substr": "substr({0}, {1} + 1)",
    "substr0": "substr({0}, {1} + 1)",
    "substr1": "substr({0}, {1})",
    "position": "strpos({0}, {1}) - 1",
    "position0": "strpos({0}, {1}) - 1",
    "position1": "strpos({0}, {1})",
    "contains": "contains({0}, {1})",
    "split": "string_split({0}, {1})",
    "trunc": "trunc({0})",
    "log": "log10({0})",
    "regexp_contains": "regexp_matches({0}, {1})",
    "regexp_like": "regexp_full_match({0}, {1})",
    "regexp_replace": "regexp_replace({0}, {1}, {2}, 'g')",
    "to_string": "CAST({0} AS VARCHAR)",
    "tostring": "CAST({0} AS VARCHAR)",
    "to_number": "TRY_CAST({0} AS DOUBLE)",
    "tonumber": "TRY_CAST({0} AS DOUBLE)",
    "to_boolean": "TRY_CAST({0} AS BOOLEAN)",
    "date_part_str": "date_part({1}, CAST({0} AS TIMESTAMP))",
    "date_diff_str": "date_diff({2}, CAST({1} AS TIMESTAMP), CAST({0} AS TIMESTAMP))",
    "str_to_millis": "epoch_ms(CAST({0} AS TIMESTAMP))",
    "sqlpp_any": "(len(list_filter({0}, {1})) > 0)",
    "sqlpp_every": "(len(list_filter({0}, {1})) = len({0}))",
    "sqlpp_array": "list_transform(list_filter({0}, {1}), {2})",
}
"""Each as a template over its arguments."""
_ARITIES = {"substr": (2, 3), "substr0": (2, 3), "substr1": (2, 3), "array_concat": (2, 2)}
_VARIADIC = {
    "ifnull": "coalesce",
    "ifmissing": "coalesce",
    "ifmissingornull": "coalesce",
    "nvl": "coalesce",
    **{name: name for name in _SAME},
    **{name: name for name in AGGREGATES},
}

FUNCTIONS = frozenset(_RENAMED) | frozenset(_VARIADIC)
"""All names, in lower case."""


def duckdb_function(name: str, arguments: list[str]) -> str:
    """The call in DuckDB's SQL. Raises ValueError where the number of arguments is not right."""
    name = name.lower()
    if name in _VARIADIC:
        return f"{_VARIADIC[name]}({', '.join(arguments)})"
    template = _RENAMED[name]
    own = 1 + max(n for n in range(4) if f"{{{n}}}" in template)
    low, high = _ARITIES.get(name, (own, own))
    if not low <= len(arguments) <= high:
        wanted = str(low) if low == high else f"{low} to {high}"
        raise ValueError(f"{name.upper()} takes {wanted} argument{'' if wanted == '1' else 's'}, not {len(arguments)}")
    call = template.format(*arguments)
    return f"{call[:-1]}, {arguments[2]})" if name.startswith("substr") and len(arguments) == 3 else call
