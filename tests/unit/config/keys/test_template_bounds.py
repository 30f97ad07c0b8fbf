"""Z3: whatever a template says, rendering it is bounded: in what it makes, in its steps, in its depth."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from agentflow.config.keys.template_bounds import MOST_WORK
from agentflow.config.keys.templates import TemplateFault, render

TOO_MUCH = r"""
{{ 'x'.center(10**9) }}
{{ 'x'|center(1000000000) }}
{{ 'x'|indent(10**9, true) }}
{{ ('a\n'*1000)|indent('b'*10000) }}
{{ range(100000)|join('a'*100000) }}
{{ ('a'*100000).join(range(1000)|map('string')) }}
{{ '{:>999999999}'.format(1) }}
{{ '{:>{}}'.format(1, 10**9) }}
{{ ('{0}'*10000).format('a'*100000) }}
{{ '{0:>999999999}'.format_map({}) }}
{{ 'x'.ljust(10**9) }}
{{ 'x'.rjust(10**9) }}
{{ 'x'.zfill(10**9) }}
{{ 'x'.encode().center(10**9) }}
{{ '\t'.expandtabs(10**9) }}
{{ 'x'.expandtabs(tabsize=10**9) }}
{{ ('a'*10000)|replace('a', 'b'*10000) }}
{{ ('a'*10000).replace('a', 'b'*10000) }}
{{ ('a'*10000).replace('', 'b'*10000) }}
{{ [1]|batch(10**9, 0)|list }}
{{ [1]|slice(10**9)|list }}
{{ ('a '*50000)|wordwrap(1, true, 'x'*100000) }}
{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}
{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}
{% for a in range(100000) if a > 10**6 %}{% endfor %}{{ range(10**9) }}
{{ range(100000)|map('string')|map('center', 99999)|list }}
{% set ns = namespace(x='aa') %}{% for a in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}
{% set ns = namespace(x='aa') %}{% for a in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}
{% set ns = namespace(x=[1]) %}{% for a in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}
{% set ns = namespace(x=[1]) %}{% for a in range(60) %}{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% endfor %}{{ ns.x }}
{% set ns = namespace(x=(1,)) %}{% for a in range(60) %}{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ ns.x == ns.x }}
{% set ns = namespace(x=1) %}{% for a in range(9000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}
{% set ns = namespace(x=1) %}{% for a in range(60) %}{% set ns.x = dict(a=ns.x, b=ns.x) %}{% endfor %}{{ ns.x }}
{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}
{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(60) }}
{% for a in range(10) recursive %}{{ loop(range(10)) }}{% endfor %}
{% for a in [[1,2]]*1000 recursive %}{% if loop.depth < 9 %}{{ loop([1]*1000) }}{% endif %}{% endfor %}
{{ 1|round(10**9, 'floor') }}
{{ 5.5|round(-1000000000, 'ceil') }}
{{ ([[1]*100]*1000)|sum(start=[]) }}
{{ [1]|tojson(indent=10**9) }}
{{ (1).to_bytes(10**9, 'big') }}
{{ (1).to_bytes(length=10**9, byteorder='big') }}
{{ ('f'*99999)|int(base=16) }}
{{ ('a'*10000).translate({97: 'b'*10000}) }}
{{ ('<'*100000)|striptags }}
{{ ('<!--'*20000)|striptags }}
{{ ('www.'*20000)|urlize }}
{{ (('<'*100000)|safe).striptags() }}
{{ ([1]*100000)|pprint }}
{% set x %}{% for a in range(100000) %}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{% endfor %}{% endset %}{{ x }}
{% set t = 'a'*100000 %}{% for a in range(100000) %}{% if t == t ~ '' %}{% endif %}{% endfor %}
{% set t = 'a'*100000 %}{% for a in range(90000) %}{% if t[1:] %}{% endif %}{% endfor %}
{% set t = 'a'*100000 %}{% for a in range(90000) %}{% if 'b' in t %}{% endif %}{% endfor %}
{% filter center(10**9) %}x{% endfilter %}
{{ '%0999999999d' % 1 }}
{{ '%*d'|format(10**9, 1) }}
{{ ('%s'*10000)|format(*(['a'*100]*10000)) }}
{{ cycler(*range(100000)) }}{{ dict.fromkeys(range(10**9)) }}
{{ 'x'|attr('center')(10**9) }}
{{ ['x']|map('center', 10**9)|list }}
{{ 'x' * 10**9 }}{{ [1] * 10**9 }}
{{ 9**(9**9) }}{{ 2 ** 100 ** 100 }}
{{ ([('<'*90000)]*90)|map('forceescape')|join }}
""".strip().splitlines()


@pytest.mark.parametrize("text", TOO_MUCH, ids=range(len(TOO_MUCH)))
def test_a_template_that_makes_too_much_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(TemplateFault, match=r"prompt may hold|too deep|levels deep|Range too big|4,000 bits") as caught:
        render("\n" + text, {})
    assert caught.value.line == 2 or "calls itself" in str(caught.value)
    assert len(str(caught.value)) < 200


VALUES: dict[str, Any] = {
    "inputs": {"name": "Ada", "items": ["b", "a", "c"], "count": 3, "none": None, "long": "one two\nthree " * 200},
    "vars": {"rows": [{"id": 1, "tag": "x"}, {"id": 2, "tag": "y"}], "tree": [[1, [2]], [3]], "text": "<b>fat</b>"},
}
USUAL = [
    "Hello {{ inputs.name }}{% if inputs.count > 2 and 'a' in inputs['items'] %}, many{% endif %}",
    "{% for each in inputs['items']|sort %}{{ loop.index }}/{{ loop.length }} {{ each }}{{ ', ' if not loop.last }}"
    "{% else %}none{% endfor %}",
    "{% for key, value in vars.rows[0].items() %}{{ key }}={{ value }};{% endfor %}",
    "{{ vars.rows|map(attribute='tag')|join('-') }} {{ vars.rows|selectattr('id', 'gt', 1)|list }}",
    "{{ vars.rows|tojson }} {{ vars.rows|tojson(indent=2) }} {{ vars.rows|groupby('tag') }}",
    "{{ inputs.long|wordwrap(20)|indent(4, first=true)|truncate(100) }} {{ inputs.long|wordcount }}",
    "{% for each in vars.tree recursive %}{{ loop(each) if each is iterable else each }} {% endfor %}",
    "{% macro hi(who, mark='!') %}hi {{ who }}{{ mark }}{% endmacro %}{{ hi('a') }} {{ hi('b', mark='?') }}",
    "{% set ns = namespace(n=0) %}{% for row in vars.rows %}{% set ns.n = ns.n + row.id %}{% endfor %}{{ ns.n }}",
    "{% set text %}a {{ inputs.name|upper }}{% endset %}{{ text ~ 1 ~ none }} {{ text[:3] }} {{ [1, 2, 3][::-1] }}",
    "{{ inputs.missing is defined }} {{ inputs.missing|default('d') }} {{ inputs.none is none }} {{ 4 is even }}",
    "{{ '%05.2f|%s' % (1.5, 'x') }} {{ '%s'|format(2) }} {{ '{:>8}|{name}'.format(1, name='n') }} {{ 'a'.center(9) }}",
    "{{ vars.text|striptags }} {{ vars.text|e }} {{ 2.567|round(1) }} {{ [1, 2]|sum }} {{ 'a,b'.split(',') }}",
    "{{ inputs['items']|batch(2, '-')|list }} {{ inputs['items']|slice(2)|list }} {{ range(3)|list }} {{ (1, 2) }}",
    "{{ inputs['items']|reverse|list }} {{ inputs['items']|first }} {{ 'x'|replace('x', 'yy') }} {{ dict(a=1) }}",
    "{% filter upper %}a{{ inputs.name }}{% endfilter %}",
]  # fmt: skip


@pytest.mark.parametrize("text", USUAL, ids=range(len(USUAL)))
def test_what_prompts_do_is_rendered_as_without_bounds(text: str) -> None:
    plain = ImmutableSandboxedEnvironment(
        keep_trailing_newline=True, finalize=lambda value: "" if value is None else value
    )
    assert render(text, VALUES) == plain.from_string(text).render(VALUES)


def test_a_text_as_long_as_the_work_allows_is_rendered_and_each_rendering_begins_anew() -> None:
    long = {"vars": {"text": "x" * (MOST_WORK - 1_000)}}
    for _ in range(2):
        assert len(render("{{ vars.text }}", long)) == MOST_WORK - 1_000
    with pytest.raises(TemplateFault, match="makes more than a prompt may hold"):
        render("{{ vars.text }}{{ vars.text }}", long)
