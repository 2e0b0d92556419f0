"""Every option of the table, from file, environment and flag, and which of them wins."""

import json

from harness import cases, check, contains, equal
from settings import AGENT, SERVER, TOPS, another, config, words, wrong

MASK = "***"


def flag(option, value):
    name = "--" + option["name"].replace("_", "-")
    return [f"{name}={value}"]


def variable(option):
    return "SPOOLWIRE_" + option["name"].upper()


# What does not go without another.
NEEDS = {"tls_cert": ["--tls-key=x"], "tls_key": ["--tls-cert=x"],
         "redis_publish": ["--redis-url=redis://x"], "redis_subscribe": ["--redis-url=redis://x"],
         "arq_queue": ["--redis-url=redis://x"], "store_read_url": ["--store=postgres://u@h/d"]}


def shown(option, *flags, **more):
    needs = NEEDS.get(option["name"], []) if flags or more else []
    return config("show", "--json", *needs, *flags, **more).json["options"][option["name"]]


def expected(option, value):
    return MASK if option["secret"] else value


def named(option):
    return option["name"]


FILED = [o for o in SERVER if o["in_file"]]


@cases(FILED, name=named)
def from_each_place(option):
    text, value = another(option)
    yaml = f"{option['name']}: {json.dumps(text) if option['type'] in ('text', 'address', 'list') else text}\n"
    value = expected(option, value)
    equal(shown(option), {"value": shown(option)["value"], "source": "default"})
    equal(shown(option, file="# one\n" + yaml), {"value": value, "source": "file", "line": 2})
    equal(shown(option, env={variable(option): text}), {"value": value, "source": "environment"})
    equal(shown(option, *flag(option, text)), {"value": value, "source": "flag"})


@cases([o for o in FILED if not o["secret"] and o["type"] in ("duration", "size", "number")], name=named)
def the_stronger_wins(option):
    """Four values: of the default, file, environment and flag."""
    name = option["name"]
    values = []
    low = option["min"]
    for n in range(1, 200):
        text = str(low + n) if option["type"] == "number" else {"duration": f"{low // 1000 + n}s", "size": f"{low // 1024 + n}K"}[option["type"]]
        if text != option["default"] and len(values) < 3:
            values.append(text)
    filed, env, given = values
    args = dict(file=f"{name}: {filed}\n", env={variable(option): env})
    got = config("show", "--json", *flag(option, given), **args).json["options"][name]
    equal((str(got["value"]), got["source"]), (given, "flag"))
    got = shown(option, **args)
    equal((str(got["value"]), got["source"]), (env, "environment"))


@cases(FILED, name=named)
def wrong_in_each_place(option):
    """The place is named, and the value is checked even where something else wins over it."""
    bad = wrong(option)
    text = another(option)[0]
    if option["type"] == "text":
        places = [("FILE: '%s' at line 1 must be" % option["name"], dict(file=f'{option["name"]}: ""\n')),
                  (flag(option, "")[0].rstrip("=") + " must be", dict(flags=flag(option, "")))]
    else:
        places = [("FILE: '%s' at line 1 must be" % option["name"], dict(file=f"{option['name']}: {json.dumps(bad)}\n")),
                  (f"{variable(option)} must be", dict(env={variable(option): bad})),
                  (flag(option, "")[0].rstrip("=") + " must be", dict(flags=flag(option, bad)))]
    for want, how in places:
        flags = how.pop("flags", [])
        err = config("check", *flags, want=2, **how).err
        check(err.startswith(want), (err, want))
        if option["secret"]:
            check(bad == "" or bad not in err, err)
    if option["type"] != "text":
        config("check", *flag(option, text), file=f"{option['name']}: {json.dumps(bad)}\n", want=2)


def agent_yaml(option, text):
    group, dot, name = option["name"].rpartition(".")
    value = {"list": json.dumps(words(option)), "pairs": '{KEY: value, B: "2"}'}.get(option["type"], text)
    is_worker = option["name"] in ("command", "http.url", "arq.function", "dask.scheduler") or (option["name"] in ("pull", "channel") and text == "true")
    worker = "" if is_worker else "    command: [x]\n"
    beside = "size: 2, " if group == "pool" and name != "size" else ""
    line = f"    {group}: {{{beside}{name}: {value}}}\n" if dot else f"    {name}: {value}\n"
    line += "    graph: a:b\n" if option["name"] == "dask.scheduler" else ""
    return f"agents:\n  mine:\n{worker}{line}" + TOPS.get(option["name"], "")


@cases(AGENT, name=named)
def of_an_agent(option):
    text, value = another(option)
    value = {"list": words(option), "pairs": {"KEY": MASK, "B": MASK}}.get(option["type"], value)
    got = config("show", "--json", file=agent_yaml(option, text)).json["agents"]["mine"]
    equal(got[option["name"]], value)
    other = config("show", "--json", file="agents: {mine: {command: [x]}}\n").json["agents"]["mine"]
    check(option["name"] in ("command",) or other[option["name"]] != value, "not the default")


@cases([o for o in AGENT if not o["personal"]], name=named)
def of_every_agent(option):
    text, value = another(option)
    value = {"list": words(option), "pairs": {"KEY": MASK, "B": MASK}}.get(option["type"], value)
    yaml = agent_yaml(option, text).replace("  mine:\n    command: [x]\n", '  mine: {command: [x]}\n  "*":\n')
    equal(config("show", "--json", file=yaml).json["agents"]["mine"][option["name"]], value)


@cases([o for o in AGENT if o["type"] not in ("text", "list", "pairs")], name=named)
def wrong_of_an_agent(option):
    yaml = agent_yaml(option, "no such value")
    err = config("check", file=yaml, want=2).err
    contains(err, f"at line {yaml[:yaml.index('no such')].count(chr(10)) + 1} must be")
