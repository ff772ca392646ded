"""The bundled grammar of Verilog is that of IEEE 1364-2005, as slang parses it.

Verdicts were found by hand, in the standard; slang is asked as well.
"""

from __future__ import annotations

import pytest
from support.languages import (
    can_be_written,
    index_of,
    judge_of,
    lark_parses,
    random_texts,
)

MODULE = "module m; {} endmodule"
ACCEPTED = {
    "{}": [
        "",
        "module m; endmodule",
        "module m(a, b); input a; output reg [7:0] b; endmodule",
        "module m #(parameter N = 8, M = N * 2)(input [N-1:0] a, output reg b = 0); endmodule",
        "`timescale 1ns / 100ps\n`default_nettype none\nmodule m; endmodule",
        "`define A(x) x + 1\n`ifdef A\nmodule m; endmodule\n`endif\n",
        "primitive p(output reg q, input d, c); table 0 (01) : ? : 0; endtable endprimitive",
        "primitive p(q, a); output q; input a; table 0 : 1; endtable endprimitive",
        "module \\a+b (input \\c[0] ); endmodule",
        "module m(f[1], .a({b[c], d[1:0]}), e[2 +: 1]); endmodule",
        "(* a = f(g (* b *) (y)), c = {-(* b *) d} + e[f (* b *) (x)] *) module m; endmodule",
        '`define A "" "x" ""\n`define soft "a""" \n`undef A\nmodule m; endmodule',
    ],
    MODULE: [
        "wire [3:0] a = ~b, c; reg d [0:3]; integer i; real r; event e;",
        "assign #(1, 2) {a, b} = c ? d : {4{e[3:0]}};",
        "always @(posedge c or negedge r) if (!r) q <= 0; else q <= #1 d;",
        "always @* casez (a) 4'b1??? , 4'b01??: b = 1; default: b = 'hx; endcase",
        'initial begin : l integer i; for (i = 0; i < 8; i = i + 1) $display("%d", i); end',
        "function automatic [7:0] f(input [7:0] a); f = a[7 -: 4] ** 2; endfunction",
        "task t; input a; begin fork #5 a = 1; wait (b) -> e; join disable t; end endtask",
        "genvar i; generate for (i = 0; i < 4; i = i + 1) begin : g m2 #(.N(i)) u(.a(b)); end"
        " endgenerate",
        "and #3 g(a, b, c), (d, e, f); nmos x(a, b, c); buf (strong0, weak1) y(a, b);",
        "specify specparam t = 1; (a => b) = (t, 2); $setup(a, posedge c, 3); endspecify",
        "(* full_case, keep = 1 *) wire a; defparam u.N = 3;",
        "initial begin t(-(1:2:3), a + (1:2:3), f[(1:2:3)]); a = ((1:2:3)) + 1; end",
        "m2 #((1:2:3), 4) u(((a) + 1), b); initial @(posedge (1:2:3) or ((c))) ;",
        "specify (a => b) = -c + (1:2:3):2:3, (4); (a *> b) = (1:2:3, 4); endspecify",
        "specify specparam s = (1:2:3), t = 1 + (2); endspecify specparam u = a ? (1) : 2;",
        "specify $setuphold(posedge a[1] &&& b, c.d, 1:2:3, 4, n, 5:6:7); endspecify",
        "pullup (strong1) (a); pulldown (weak0) (b), c(d); pullup (pull0, pull1) (e);",
        "assign a = 8'shFF & 'o17 | 3 'd 5 ^ 1_000 + 1.5e-3 && m.u.x[2][1:0] === 1'bz;",
    ],
}
REFUSED = {
    "{}": [
        "module m endmodule",
        "module m; ",
        "primitive p(q, a); output q; input a; table 0 : ? : 1; endtable endprimitive",
        "module logic; endmodule",
        "(* a = f (* b *) (x) *) module m; endmodule",
        "(* a = b + (* c *) d *) module m; endmodule",
        "(* a = b ? (* c *) d : e *) module m; endmodule",
        '`define A """x\nmodule m; endmodule',
        "`undef soft\nmodule m; endmodule",
        "`undef always\nmodule m; endmodule",
        "`timescale 1ns / 1us\nmodule m; endmodule",
    ],
    MODULE: [
        "assign a = b",
        "always if (a) begin b = 1;",
        "assign a = 4'b2;",
        "initial a = ;",
        "case (a) endcase",
        'assign a = "b;',
        "initial t((1:2:3));",
        "initial $d(((1:2:3)), 1);",
        "assign a = f((1:2:3) + 1);",
        "initial @((1:2:3)) ;",
        "and g(a, (1:2:3));",
        "m2 u((1:2:3));",
        "m2 u(.a((1:2:3)));",
        "specparam s = (1) + 2;",
        "specify (a => b) = (1) + 2; endspecify",
        "specify $setup(posedge +a, b, 1); endspecify",
        "specify $setup(a, posedge b + c, 1); endspecify",
        "pullup (strong0) (a);",
        "pulldown (strong1) (a);",
        "pullup (highz0, strong1) (a);",
    ],
}
# As SystemVerilog has it, which slang takes, or with macros.
LEFT_OUT = {
    "{}": ["module m(input a,); endmodule"],
    MODULE: ["m2 u(.clk);", "reg a[4];", "begin : x end", "wire [3:0][1:0] a;"],
}


def filled(texts: dict[str, list[str]]) -> list[str]:
    return [frame.replace("{}", text) for frame, some in texts.items() for text in some]


@pytest.mark.slow
@pytest.mark.parametrize("text", filled(ACCEPTED))
def test_what_verilog_has_is_accepted(text):
    assert lark_parses(text, "verilog")


@pytest.mark.slow
@pytest.mark.parametrize("text", filled(REFUSED))
def test_what_verilog_has_not_is_refused(text):
    assert not lark_parses(text, "verilog")


@pytest.mark.parametrize("text", filled(LEFT_OUT))
def test_what_is_left_out_is_refused(text):
    assert not lark_parses(text, "verilog")


def test_slang_says_the_same():
    judge = judge_of("verilog")
    assert [text for text in filled(ACCEPTED) if judge.error(text)] == []
    assert [text for text in filled(REFUSED) if not judge.error(text)] == []
    assert [text for text in filled(LEFT_OUT) if judge.error(text)] == []


@pytest.mark.slow
@pytest.mark.parametrize("start", ["module", "statement", "expression"])
def test_other_start_rules(start):
    texts = {
        "module": ("module m; endmodule", "(* a *) macromodule m; endmodule", "wire a;"),
        "statement": ("a <= #1 b;", "begin end", "wire a;"),
        "expression": ("a ? b : {c, d}", "8'hFF", "a;"),
    }[start]
    assert [lark_parses(text, "verilog", start) for text in texts] == [True, True, False]


@pytest.mark.slow
def test_texts_written_at_random_are_verilog():
    judge = judge_of("verilog")
    assert [text for text in random_texts(index_of("verilog"), 100) if judge.error(text)] == []


@pytest.mark.slow
def test_tidy_has_no_comments_no_macros_and_no_endless_space():
    texts = {
        "module m;\n  wire a;\n\nendmodule": True,
        "module m; // a\nendmodule": False,
        "module m;\n`define A 1\nendmodule": False,
        "module m;  endmodule": False,
    }
    index = index_of("verilog", tidy=True)
    assert {text: can_be_written(text, index) for text in texts} == texts
