"""What hostile texts are made of: a table of each kind (:mod:`hostile.derivations`).

The letters are few, so that parts overlap. Schemas are pairs and triples of keywords, mostly of one
type of values; grammars have three rules and three terminals, which any part may name.
"""

from __future__ import annotations

from hostile.derivations import Table

_NUMBERS = {
    "n": ["2", "3", "5", "9", "20", "40", "100", "255", "1000", "4000"],
    "few": ["0", "1", "2"],
}

# --- Patterns ------------------------------------------------------------------------------------

#: What Python, ECMA-262 and Lark read alike.
_PATTERN = _NUMBERS | {
    "p": ["«s»", "«s»", "«s»|«p»", "«s»|«s»|«s»", "(?:«p»)«quantifier»", ".*«p»", "«p».*"],
    "s": ["«q»", "«q»", "«q»«s»", "«q»«q»«s»", "«q»«q»«q»"],
    "q": ["«atom»", "«atom»«quantifier»", "«atom»«quantifier»", "«look»"],
    "quantifier": [
        *("*", "+", "?", "*?", "+?", "{«n»}", "{«n»,}", "{0,«n»}", "{«few»,«n»}", "{1,«n»}?"),
    ],
    "atom": [
        *("«letter»", "«letter»", "«letter»", "«class»", "«class»", "(?:«p»)", "(?:«p»)", "(«p»)"),
        *("(?:«letter»|«letter»«letter»)", "(?:«class»|«letter»)"),
    ],
    "letter": ["a", "b", "c", "x", "1", " ", "é", "\U0001f600", "-", "_", "k", "aa", "ab"],
    "class": [
        *(".", r"\w", r"\d", r"\s", r"\W", r"\D", r"\S", "[ab]", "[^a]", "[a-c]", "[a-zA-Z]"),
        *("[0-9]", "[^\\W\\d]", "[«letter»«letter»\\s]", "[^ab1]", "[α-ω]", "[一-龥]", "[ -~]"),
    ],
    "look": [
        "(?=«p»)",
        "(?!«p»)",
        "(?=.*«p»)",
        "(?!.*«letter»)",
        "(?<=«one»)",
        "(?<!«one»)",
        r"\b",
    ],
    "one": ["«letter»", "«class»", "«class»«class»", "(?:«letter»|«class»)"],
}
PATTERN = Table(
    _PATTERN
    | {
        "start": [
            *("«p»", "«p»", "«p»", "(?i)«p»", "(?s)«p»", "(?a)«p»", "(?m)^«p»$", "«rows»«p»"),
            *("(?:«p»){«n»}(?:«p»)", "(?!«p»)«p»", "(?=«p»)(?=«p»)«p»", "«p»(?!«p»)«p»"),
        ],
        "rows": ["(?=.*a)(?=.*b)(?=.*1)", "(?:a?){«n»}", "(?!.*(?:«p»))", "(?:a|b|ab){«n»}"],
        "look": [*_PATTERN["look"], r"\B", "^", "$", r"\A", r"\Z", "(?<=«letter»«class»)"],
        "atom": [*_PATTERN["atom"], "(?i:«p»)", "(?s:.)", "(?P<g>«p»)"],
    }
)

# --- Schemas -------------------------------------------------------------------------------------

_OBJECT = [
    '"properties":{"a":«schema»,"b":«schema»}', '"properties":{"«name»":«schema»}',
    '"patternProperties":{"«json_name»":«schema»,"«json_name»":«schema»}',
    '"patternProperties":{"«json_pattern»":«schema»}', '"additionalProperties":«schema»',
    '"additionalProperties":false', '"unevaluatedProperties":«schema»',
    '"unevaluatedProperties":false', '"propertyNames":«texts»', '"propertyNames":{"enum":«words»}',
    '"required":["a"]', '"required":["a","b"]', '"required":["«name»","«name»"]',
    '"minProperties":«n»', '"minProperties":«few»', '"maxProperties":«few»', '"maxProperties":«n»',
    '"dependentRequired":{"a":["b"],"b":["«name»"]}', '"dependentSchemas":{"«name»":«schema»}',
    '"dependentSchemas":{"a":«schema»,"b":«schema»}',
]  # fmt: skip
_ARRAY = [
    '"items":«schema»', '"items":false', '"prefixItems":[«schema»,«schema»]',
    '"prefixItems":[«schema»]', '"contains":«schema»', '"contains":«schema»,"minContains":«few»',
    '"contains":«schema»,"minContains":«few»,"maxContains":«few»', '"maxContains":«n»',
    '"uniqueItems":true', '"uniqueItems":true,"items":«scalar»', '"minItems":«few»',
    '"minItems":«n»', '"maxItems":«few»', '"maxItems":«n»', '"unevaluatedItems":«schema»',
    '"unevaluatedItems":false',
]  # fmt: skip
_TEXT = [
    '"pattern":"«json_pattern»"', '"pattern":"^«json_pattern»$"', '"minLength":«n»',
    '"maxLength":«n»', '"minLength":«few»,"maxLength":«n»', '"format":"«format»"',
    '"pattern":"^(?!«json_pattern»)"', '"enum":«words»', '"not":{"enum":«words»}',
    '"not":{"pattern":"«json_pattern»"}', '"contentEncoding":"base64"', '"const":"«name»"',
]  # fmt: skip
_NUMBER = [
    '"multipleOf":«step»', '"minimum":«number»', '"maximum":«number»',
    '"exclusiveMinimum":«number»', '"exclusiveMaximum":«number»', '"not":{"multipleOf":«step»}',
    '"multipleOf":«step»,"minimum":«number»', '"minimum":«number»,"maximum":«number»',
]  # fmt: skip
_ANY = [
    '"type":["object","array","string"]', '"type":"integer"', '"enum":[«value»,«value»,«value»]',
    '"const":«value»', '"not":«schema»', '"allOf":[«schema»,«schema»]',
    '"anyOf":[«schema»,«schema»]', '"anyOf":[«schema»,«schema»,«schema»]',
    '"oneOf":[«schema»,«schema»]', '"oneOf":[«schema»,«schema»,«schema»]',
    '"if":«schema»,"then":«schema»,"else":«schema»', '"if":«schema»,"then":«schema»',
    '"if":«schema»,"else":«schema»', '"$ref":"#"', '"$ref":"#/$defs/a"', '"$ref":"#/$defs/b"',
    '"$dynamicRef":"#/$defs/a"', '"default":«value»', '"deprecated":true',
]  # fmt: skip
_SCHEMA = _PATTERN | {
    "schema": [
        *("{«object»}", "{«object»,«object»}", "{«object»,«object»,«object»}", "{«array»}"),
        *("{«array»,«array»}", "{«array»,«array»,«array»}", "{«text»}", "{«text»,«text»}"),
        *("{«number_of»}", "{«number_of»,«number_of»}", "{«any»}", "{«any»,«any»}", "«scalar»"),
        *("{«any»,«object»}", "{«any»,«array»}", "{«any»,«object»,«object»}", "{«any»,«text»}"),
        *("«scalar»", "true", "false", "{}"),
    ],
    "texts": ["{«text»}", "{«text»,«text»}", '{"maxLength":«few»}'],
    "scalar": [
        *('{"type":"string"}', '{"type":"integer"}', '{"type":"null"}', '{"type":"boolean"}'),
        *('{"type":"number"}', '{"enum":«words»}', '{"const":«value»}', '{"maxLength":«n»}'),
        *('{"type":"integer","minimum":0,"maximum":«n»}', '{"minimum":«number»}'),
    ],
    "object": _OBJECT,
    "array": _ARRAY,
    "text": _TEXT,
    "number_of": _NUMBER,
    "any": _ANY,
    "name": ["a", "b", "c", "ab", "aa", "é", "", "x1"],
    "words": [
        *('["a","b"]', '["«name»","«name»","«name»"]', '["a","aa","ab","b","ba"]', '["a",1,null]'),
    ],
    "json_name": ["a", "b", "^a", "b$", "^[ab]+$", "^.{«n»}$", "a.*b", "^(?!a)", "«p»", "[0-9]"],
    "json_pattern": ["«p»", "«p»", "«p»", "(?:a|b)*a(?:a|b){«few»}", "[a-z]{1,«n»}"],
    "format": [
        *("date-time", "date", "time", "duration", "email", "idn-email", "hostname"),
        *("ipv4", "ipv6", "uri", "uri-reference", "iri", "uuid", "uri-template", "json-pointer"),
        *("relative-json-pointer", "regex", "iri-reference", "idn-hostname"),
    ],
    "step": ["2", "3", "7", "0.1", "0.01", "1.5", "97", "1000", "1e-3", "12.34"],
    "number": ["0", "-1", "1", "2.5", "100", "-99.9", "1000000", "1e10", "0.001", "123456789"],
    "value": [
        *("1", "null", '"a"', "[]", "{}", '{"a":1}', '{"a":1,"b":[]}', "[1,2]", "2.5", "true"),
        *('["a","b"]', '{"a":{"a":«value»}}', "[«value»,«value»]", '"«name»"'),
    ],
}  # fmt: skip
_DEFINITIONS = '"$defs":{"a":«schema»,"b":«scalar»}'
SCHEMA = Table(
    _SCHEMA
    | {
        "start": [
            *(f"{{{keywords},{_DEFINITIONS}}}" for keywords in (
                "«object»,«object»", "«object»,«object»,«object»", "«array»,«array»",
                "«array»,«array»,«array»", "«any»,«object»,«object»", "«any»,«any»",
                "«any»,«array»,«array»", "«any»,«any»,«object»", "«text»,«text»", "«any»,«text»",
                "«text»,«text»,«text»", "«number_of»,«number_of»", "«any»,«number_of»",
                '«any»,«object»,"x-cfgguide":{"tidy":false}', '«array»,"x-cfgguide":{"tidy":false}',
            )),
        ],
    }
)  # fmt: skip

# --- Grammars ------------------------------------------------------------------------------------

_COUNTS = {"n": ["2", "3", "5", "9", "20", "40", "100"]}  # larger ones are mostly refused
_LARK = (
    _PATTERN
    | _COUNTS
    | {
        "rule": [
            "«sides»",
            '"«word»" | «sides»',
            "«sides» | A",
            "B | «side»",
            "C «side» | A",
            "«token»",
        ],
        "token": ["A", "B", "C", '"«word»"'],
        "sides": ["«side»", "«side»", "«side» | «sides»", "«side» | «side» | «side»", "«side» |"],
        "side": ["«item»", "«item»", "«item» «side»", "«item» «item» «side»", "«item» «item»"],
        "item": [
            *(
                "«symbol»",
                "«symbol»",
                "«symbol»?",
                "«symbol»*",
                "«symbol»+",
                "(«sides»)",
                "(«sides»)*",
            ),
            *(
                "(«sides»)+",
                "(«sides»)?",
                "«symbol»~«few»..«n»",
                "«symbol»~«n»",
                "(«sides»)~0..«n»",
            ),
        ],
        "symbol": [
            '"«word»"',
            '"«word»"',
            '"«word»"i',
            "A",
            "B",
            "C",
            "a",
            "b",
            "start",
            "/«literal»/",
        ],
        "word": ["a", "b", "ab", "aa", "(", ")", ",", "if", "1", " ", "=", "é", "begin"],
        "literal": [
            "«letter»«p»",
            "«p»«letter»",
            "«class»+",
            "[ab]+",
            "a+",
            "\\w+",
            "[^,]+",
            "«p»",
        ],
        "terminal": [
            *(
                "/«literal»/",
                "/«literal»/",
                '"«word»"',
                "/«literal»/ | /«literal»/",
                "/«literal»/i",
            ),
            *('("«word»" | /«literal»/)+', '"«word»" C', "/[a-z]+/", "/[0-9]+/", '"a".."f"'),
            *("/«literal»/s", '("«word»")~1..«n»', "/\\w+(?=«p»)/", "/(?!«p»)«class»+/"),
        ],
    }
)
LARK = Table(
    _LARK
    | {
        "start": [
            "start: «rule»\na: «rule»\nb: «rule»\nA: «terminal»\nB: «terminal»\nC: «literals»\n"
            "«directive»",
            "start: «rule»\na: «rule»\nb: «rule»\nA.2: «terminal»\nB: «terminal»\n"
            "C.-1: «literals»\n«directive»",
            "start: «side»\n?a: «rule»\n_b{x,y}: x y | «sides» | y\nb: _b{A, b} | _b{a, «symbol»}\n"
            "A: «terminal»\nB: «terminal»\nC: «literals»\n«directive»",
            "start: a\na: b | a «symbol» b\nb: «symbol» | «symbol» start «symbol»\nA: «terminal»\n"
            "B: «terminal»\nC: «literals»\n«directive»",
        ],
        "literals": ["/«literal»/", '"«word»"', '"c"', "/c+/"],
        "directive": [
            *("", "", "%ignore A", "%ignore / +/", '%ignore " "', "%ignore /#[^\\n]*/"),
            *("%ignore / +/\n%ignore /«literal»/", "%ignore B", "%ignore /\\s+(?!«p»)/"),
        ],
    }
)

_EBNF = (
    _PATTERN
    | _COUNTS
    | {
        "rule": ["«sides»", '"«word»" | «sides»', '«sides» | "«word»"', "[«set»] | «side»"],
        "look": ["«letter»"],  # it has none
        "sides": ["«side»", "«side»", "«side» | «sides»", "«side» | «side»"],
        "side": ["«item»", "«item» «side»", "«item» «item»", "«item» «item» «item»"],
        "item": [
            *(
                "«symbol»",
                "«symbol»",
                "«symbol»?",
                "«symbol»*",
                "«symbol»+",
                "(«sides»)",
                "(«sides»)*",
            ),
            *(
                "(«sides»)+",
                "«symbol»{«few»,«n»}",
                "«symbol»{«n»}",
                "(«sides»){0,«n»}",
                "(«sides»)?",
            ),
        ],
        "symbol": ['"«word»"', '"«word»"', "[«set»]", "[^«set»]", "[«set»]", "a", "b", "c", "root"],
        "word": ["a", "b", "ab", "aa", "(", ")", ",", "if", "1", " ", "=", "é", "begin"],
        "set": ["a", "ab", "a-z", "0-9", "a-zA-Z", "^a", "é-ü", "α-ω", " -~", "\\n", "b"],
    }
)
_ROOT = "root ::= «rule»\na ::= «rule»\nb ::= «rule»\nc ::= «simple»\n"
_SIMPLE = ['"c"', "[«set»]", "[«set»]+", '"«word»" | "«word»" c', '"«word»"', "[«set»]{1,«n»}"]
EBNF = Table(
    _EBNF
    | {
        "start": [_ROOT, _ROOT, "root ::= a «symbol» b\na ::= «rule» (=«symbol»)\nb ::= «rule»\n"
                  "c ::= «simple»\n", "root ::= a\na ::= Regex(\"«json_p»\") b?\nb ::= «rule»\n"
                  "c ::= «simple»\n"],
        "simple": _SIMPLE,
        "json_p": ["«p»"],
    }
)  # fmt: skip
GBNF = Table(
    _EBNF
    | {
        "start": [_ROOT, _ROOT, 'root ::= a | root "«word»" root\na ::= «rule»\nb ::= «rule»\n'
                  "c ::= «simple»\n"],
        "simple": _SIMPLE,
        "symbol": [*_EBNF["symbol"], "."],
    }
)  # fmt: skip
W3C = Table(
    _EBNF
    | {
        "start": ["root ::= «rule»\na ::= «rule»\nb ::= «rule»\nc ::= [«set»] - [«set»]\n",
                  "root ::= a*\na ::= «sides» - «sides»\nb ::= «rule»\nc ::= [«set»] - [«set»]\n",
                  "root ::= a b\na ::= «char»* - («char»* '«word»' «char»*)\nb ::= «rule»\n"
                  "c ::= «char»"],
        "char": ["[«set»]", "[#x20-#x7E]", "#x61", "[^«set»]", "c"],
        "item": ["«symbol»", "«symbol»", "«symbol»?", "«symbol»*", "«symbol»+", "(«sides»)",
                 "(«sides»)*", "(«sides»)+", "(«sides»)?", "([«set»] - [«set»])*"],
        "symbol": ["'«word»'", '"«word»"', "[«set»]", "[^«set»]", "a", "b", "c", "#x61"],
    }
)  # fmt: skip
LLGUIDANCE = Table(
    _LARK
    | _SCHEMA
    | {
        "start": [
            "%llguidance {}\nstart: «rule»\na: «rule»\nb: «rule»\nA: «terminal»\nB: «terminal»\n"
            "C: «literals»\n«directive»",
            "%llguidance {}\nstart: a «sides»\na[lazy]: «terminal»\nb: «rule»\nA: «terminal»\n"
            "B: «terminal»\nC: «literals»",
            '%llguidance {}\nstart: (A a)* B\na: b\nb[suffix="«word»"]: /(.|\\n)*/\nA: «terminal»\n'
            "B: «terminal»\nC: «literals»",
            '%llguidance {}\nstart: "«word»" a "«word»" | B\na: %json «schema»\nb: %json «schema»\n'
            "A: «terminal»\nB: «terminal»\nC: «literals»",
            "%llguidance {}\nstart: A «symbol»\na: «rule»\nb: «rule»\nA: «set»\nB: «terminal»\n"
            "C: «literals»",
        ],
        "literals": ["/«literal»/", '"«word»"', '"c"', "/c+/"],
        "set": ["B & /«literal»/", "~B & /«literal»/", "~(/«literal»/ | B)", "(B | C) & ~/«p»/"],
        "directive": ["", "", "%ignore / +/", "%ignore /«literal»/"],
        "look": ["«letter»"],  # it has none
        "item": [*_LARK["item"], "«symbol»{«few»,«n»}", "«symbol»{«n»}", "«symbol»{«few»,}"],
    }
)

# --- Grammars that look at the text otherwise -----------------------------------------------------

#: For an indenter with brackets (:mod:`support.indenters`): terminals _NL, LPAR, RPAR.
INDENTED = Table(
    {
        "start": [
            "start: «top»\nstmt: «stmts»\nblock: _NL _INDENT «body» _DEDENT\nexpr: «exprs»\n"
            "NAME: «name»\nLPAR: \"(\"\nRPAR: \")\"\n_NL: «line»\n%declare _INDENT _DEDENT\n"
            "«ignored»",
        ],
        "top": ["(_NL | stmt)*", "_NL? stmt+", "_NL* stmt", "stmt", "stmt*"],
        "stmts": [
            *("expr _NL", "expr _NL | «head» block", "expr _NL | «head» block | «head» block"),
            *("expr block | expr _NL", "«head» (block | expr _NL) | expr _NL", "expr _NL [block]"),
            *("expr _NL | «head» block («other» block)*", "expr (\";\" expr)* _NL | «head» block"),
        ],
        "head": ['"i" expr ":"', '":"', 'NAME ":"', '"w" ":"', '"i" ":"'],
        "other": ['"e" ":"', '"o" expr ":"', '":"'],
        "body": ["stmt+", "stmt", "stmt stmt?", "(expr _NL)+ stmt?"],
        "exprs": [
            *("NAME | LPAR expr* RPAR", "NAME | LPAR [expr (\",\" expr)*] RPAR"),
            *("NAME | expr \"+\" NAME | LPAR expr RPAR", "LPAR expr* RPAR | NAME NAME?"),
        ],
        "name": ["/[a-c]+/", "/[a-z]/", '"a"', "/a|ab|b/", "/[ab](?!c)/", "/[a-c]+/ | /[0-9]+/"],
        "line": [
            r"/(\r?\n[\t ]*)+/", r"/\n[ ]*/", r"/(\n[\t ]*|#[^\n]*)+/", r"/\n[ \t]*(#x*)?/",
            r"/(\n[ \t]*(#[^\n]*)?)+/",
        ],
        "ignored": [
            "", '%ignore " "', "%ignore /[ \\t]+/", "%ignore /[ \\t]+/\n%ignore /#[^\\n]*/",
        ],
    }
)  # fmt: skip

#: For monitors that follow the terminals A and B (:mod:`support.monitors`).
WATCHED = Table(
    {
        "start": [
            "start: «rule»\na: «rule»\nb: «rule»\nA: «name»\nB: «name»\nC: «mark»\n«ignored»",
        ],
        "rule": ["«side»", "«side» | «side»", "«side» | A", "B | «side»", "A («item»)* | B"],
        "side": ["«item»", "«item» «item»", "«item» «item» «item»", "A C «item»", "B C «item»"],
        "item": [
            *("A", "A", "B", "B", "C", "a", "b", '"("  «item» ")"', "(«side»)*", "(«side»)?"),
            *("A?", "(C A)*", "(C B)+", '"<" «side» ">"', "(A | B)+"),
        ],
        "name": [
            *("/[a-c]/", "/[a-c]{1,2}/", "/a|ab|b/", '"a" | "b"', "/x[ab]?/", "/[x-z]+/"),
            "/[a-z]+/",
        ],
        "mark": ['","', '";"', '" "', "/[.]+/"],
        "ignored": ["", "", '%ignore "_"', "%ignore / +/"],
    }
)  # fmt: skip

# --- Messages ------------------------------------------------------------------------------------

TAG = Table(
    _SCHEMA
    | {
        "start": ['{"type":"structural_tag","format":«format_of»}'],
        "format_of": [
            '{"type":"const_string","value":"«word»"}', '{"type":"any_text"}',
            '{"type":"any_text","excludes":["«word»","«word»"]}',
            '{"type":"any_text","max_tokens":«n»}', '{"type":"regex","pattern":"«json_pattern»"}',
            '{"type":"json_schema","json_schema":«schema»}',
            '{"type":"json_schema","json_schema":«schema»}',
            '{"type":"sequence","elements":[«format_of»,«format_of»]}',
            '{"type":"sequence","elements":[«format_of»,«format_of»,«format_of»]}',
            '{"type":"or","elements":[«format_of»,«format_of»]}',
            '{"type":"optional","content":«format_of»}', '{"type":"star","content":«format_of»}',
            '{"type":"plus","content":«format_of»}',
            '{"type":"repeat","min":«few»,"max":«n»,"content":«format_of»}',
            '{"type":"tag",«tag»}',
            '{"type":"triggered_tags","triggers":["<"],"tags":[{«tag»},{«tag»}]«more»}',
            '{"type":"triggered_tags","triggers":["<a"],"excludes":["«word»"],"tags":[{«tag_a»}]«more»}',
            '{"type":"tags_with_separator","separator":"«word»","tags":[{«tag»},{«tag»}]«more»}',
            '{"type":"dispatch","rules":[["«word»",«format_of»],["<",«format_of»]]}',
        ],
        "tag": ['"begin":"<«word»>","content":«format_of»,"end":"</«word»>"',
                '"begin":"<a>","content":«format_of»,"end":["</a>","«word»"]'],
        "tag_a": ['"begin":"<a«word»","content":«format_of»,"end":"«word»"'],
        "more": ["", ',"at_least_one":true', ',"stop_after_first":true'],
        "word": ["a", "b", "ab", "aa", "aab", ",", "<", "</a>", "\\n", "é", "abababab", "<a"],
    }
)  # fmt: skip

# --- Definitions of a schema ----------------------------------------------------------------------

_FILES = ["written.db", "./written", "secret.db", "secret.txt", "file:written.db?mode=rwc",
          "file:secret.db?mode=ro", ":memory:", "", "in/written.db", "a b.db"]  # fmt: skip
_DEFINITION = _NUMBERS | {
    "definitions": [
        *("«definition»", "«definition»; «definition»", "«definition»;«definitions»"),
        *("«table»; «view»", "«table»; «view»; «view»; «view»"),
    ],
    "definition": ["«table»", "«table»", "«view»", "«index»", "«trigger»"],
    "table": ["CREATE TABLE IF NOT EXISTS «name» («columns»)"],
    "columns": ["x", "x, y «of»", "x, y «of», z «of»", "x «of», CHECK («value»)"],
    "of": ["INT", "UNIQUE", "DEFAULT («value»)", "AS («value»)", "REFERENCES «name» (x)"],
    "view": [
        "CREATE VIEW IF NOT EXISTS «name» AS «query»",
        "CREATE VIEW IF NOT EXISTS «name» AS WITH «ctes» «query»",
    ],
    "ctes": ["«name» AS («query»)", "«name» (x) AS NOT MATERIALIZED («query»), «ctes»"],
    "query": [
        *("SELECT * FROM «from»", "SELECT «value» AS x FROM «from»", "SELECT 1 AS x", "VALUES (1)"),
        *("«query» UNION ALL «query»", "SELECT x FROM («query»), «from»", "SELECT («query») AS x"),
    ],
    "from": ["«name»", "«name» a, «name» b", "«from» NATURAL JOIN «name»", "json_each('[]')"],
    "index": ["CREATE INDEX IF NOT EXISTS i ON t («value»)", "CREATE UNIQUE INDEX j ON t (x)"],
    "trigger": [
        "CREATE TRIGGER IF NOT EXISTS r AFTER INSERT ON t BEGIN «query»; DELETE FROM «name»; END"
    ],
    "name": ["t", "u", "v", "w", '"a;b"', "[c]", "`d`", "é", '"e""f"'],
    "value": [
        *("1", "1 + «value»", "'a;' || «value»", "length('a')", "'a' LIKE '%a%a%a%b'"),
        *("hex(zeroblob(«n»«n»«n»))", "printf('%*d', «n»«n»«n», 1)"),
    ],
}
#: Of these texts most define something; those of `attack` do more.
DEFINITION = Table(
    _DEFINITION
    | {
        "start": ['cfgguide:sql_select {"tables": "«json_definitions»"}'],
        "json_definitions": ["CREATE TABLE t (x); «definitions»"],
        "attack": [
            *('cfgguide:sql_select {"tables": "«json_attack»"}',) * 2,
            'cfgguide:sql {"tables": "«json_attack»"}',
        ],
        "json_attack": [
            *("CREATE TABLE t (x); «harm»", "CREATE TABLE t (x); «harm»; «harm»") * 2,
            *("«harm»; CREATE TABLE t (x)", "CREATE TABLE t (x)«odd»«harm»"),
            *(
                "«definitions»; «harm»",
                "«harm»;«definitions»",
                "«odd»«harm»",
                "BEGIN; «harm»; COMMIT",
            ),
            *("EXPLAIN «harm»; «definitions»", "«table»;; -- ;\n«harm»;«odd»", "\ufeff«harm»"),
            "«definitions» /* ; */;«harm»;«harm»",
        ],
        "odd": ["/* ; '*/", "-- ;\n", "\x00", "';'; ", "\t\r\n\f", ";", "/*", "\u2028", '"', "[; "],
        "harm": [
            *(
                "ATTACH «file» AS «name»",
                "ATTACH DATABASE «file» AS o; CREATE TABLE o.t («columns»)",
            ),
            *(
                "ATTACH «file» AS o; DROP TABLE o.passwords",
                "DETACH main",
                "VACUUM",
                "VACUUM INTO «file»",
            ),
            *(
                "VACUUM main INTO «file»",
                "ATTACH «file» AS o; CREATE TABLE t AS SELECT * FROM o.passwords",
            ),
            *("CREATE VIRTUAL TABLE «name» USING «module»(«file»)", "PRAGMA «pragma» = «file»"),
            *("PRAGMA «pragma»(«n»)", "CREATE TEMP TABLE «name» («columns»)", "SELECT «function»"),
            *(
                "CREATE TEMP TRIGGER r INSERT ON «name» BEGIN SELECT «function»; END",
                "REINDEX",
                "ANALYZE",
            ),
            *("CREATE TABLE «name» AS «endless»", "INSERT INTO «name» «endless»", "«endless»"),
            *(
                "CREATE TABLE «name» AS SELECT «function» AS x",
                "INSERT INTO «name» VALUES («function»)",
            ),
            *("CREATE TABLE «name» (x DEFAULT («function»)); INSERT INTO «name» DEFAULT VALUES",),
            *(
                "CREATE TABLE «name» (x, y AS («function»))",
                "CREATE INDEX i ON «name» («function»)",
            ),
            *(
                "CREATE INDEX i ON «name» (x) WHERE «function»",
                "CREATE VIEW w AS SELECT * FROM «source»",
            ),
            *(
                "CREATE TABLE w AS SELECT * FROM «source»",
                "DROP TABLE «name»",
                "ALTER TABLE «name» ADD z",
            ),
            *(
                "UPDATE sqlite_master SET sql = «file»",
                "DELETE FROM sqlite_master",
                "SAVEPOINT «name»",
            ),
            *(
                "CREATE TRIGGER r INSERT ON «name» BEGIN SELECT «function»; END",
                "UPDATE t SET x = «function»",
            ),
        ],
        "file": [f"{quote}{file}{quote}" for file in _FILES for quote in "'\""]
        + ["'written' || '.db'", "«function»"],
        "module": [
            "fts5",
            "rtree",
            "csv",
            "zipfile",
            "fts3tokenize",
            "dbstat",
            "fsdir",
            "sqlite_stmt",
        ],
        "pragma": [
            *(
                "journal_mode",
                "temp_store",
                "temp_store_directory",
                "data_store_directory",
                "main.key",
            ),
            *("writable_schema", "mmap_size", "hard_heap_limit", "page_size", "max_page_count"),
            *("trusted_schema", "locking_mode", "wal_checkpoint", "cache_spill", "user_version"),
        ],
        "function": [
            *("load_extension(«file»)", "readfile(«file»)", "writefile(«file», 1)", "edit(«file»)"),
            *("zeroblob(999999999)", "hex(randomblob(499999999))", "printf('%*c', 999999999, 'a')"),
            *("fts3_tokenizer('simple', x'00')", "replace(hex(zeroblob(99999)), '0', '«n»«n»«n»')"),
            "(«endless»)",
        ],
        "source": [
            "fsdir('.')",
            "pragma_database_list",
            "dbstat",
            "sqlite_master",
            "generate_series(1)",
        ],
        "endless": [
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT * FROM c",
            "WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT 1 FROM c) SELECT 1 FROM c WHERE x",
        ],
    }
)

#: By kind, as :data:`hostile.cases.KINDS` and the notations that no case is listed in.
TABLES: dict[str, Table] = {
    "grammar": LARK,
    "pattern": PATTERN,
    "schema": SCHEMA,
    "ebnf": EBNF,
    "gbnf": GBNF,
    "w3c": W3C,
    "llguidance": LLGUIDANCE,
    "indented": INDENTED,
    "watched": WATCHED,
    "tag": TAG,
    "definition": DEFINITION,
}
