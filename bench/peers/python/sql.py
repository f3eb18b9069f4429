"""The operations as SQL, for every peer that speaks it. {t}, {l} and {r} are the tables."""

GROUPS = {
    op: "SELECT k, sum(v) AS sum, count(*) AS count FROM {t} GROUP BY k"
    for op in "groupby_100 groupby_1e5 groupby_unique groupby_str groupby_sorted groupby_zipf groupby_sparse groupby_skew".split()
}
JOINS = {op: "SELECT {l}.k, {l}.v, {r}.w FROM {l} JOIN {r} ON {l}.k = {r}.k" for op in "join_1e5 join_unique join_sparse join_str join_cylon".split()}

OPERATIONS = {
    "sum": "SELECT sum(v) AS sum FROM {t}",
    "minmax": "SELECT min(v) AS min, max(v) AS max FROM {t}",
    "filter_count": "SELECT count(*) AS count FROM {t} WHERE v < 0.1",
    "filter_10": "SELECT k, v FROM {t} WHERE v < 0.1",
    "filter_50": "SELECT k, v FROM {t} WHERE v < 0.5",
    "contains": "SELECT count(*) AS count FROM {t} WHERE contains(k, 'qu')",
    "starts_with": "SELECT count(*) AS count FROM {t} WHERE starts_with(k, 'qu')",
    **GROUPS,
    "groupby_two": "SELECT k1, k2, sum(v) AS sum, count(*) AS count FROM {t} GROUP BY k1, k2",
    "groupby_nulls": "SELECT k, sum(v) AS sum, count(v) AS count FROM {t} GROUP BY k",
    **JOINS,
    "sort": "SELECT k, v FROM {t} ORDER BY k",
    "sort_nulls": "SELECT k, v FROM {t} ORDER BY k NULLS LAST",
    "sort_str": "SELECT k, v FROM {t} ORDER BY k",
    "sort_two": "SELECT k1, k2, v FROM {t} ORDER BY k1, k2",
    "argsort": "SELECT row FROM {t} ORDER BY k",
    "topk": "SELECT k, v FROM {t} ORDER BY k LIMIT 100",
    "cumsum": "SELECT sum(v) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS cumsum FROM {t}",
    "distinct": "SELECT DISTINCT k FROM {t}",
    "bitmap_and": 'SELECT a AND b AS "and" FROM {t}',
    "bitmap_count": "SELECT count(*) AS count FROM {t} WHERE a",
    "expr": "SELECT (a * b + c) > d AND e AS expr FROM {t}",
}
