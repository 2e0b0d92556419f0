"""Exact error messages for invalid settings: the place, the reason, and a suggestion."""

from harness import case, cases, check, equal
from settings import SERVER, config

FILES = {
    "max_boddy: 4M": "FILE: unknown key 'max_boddy' at line 1: did you mean 'max_body'?",
    "a:\n  b: 1": "FILE: unknown key 'a' at line 1",
    "max_body: 1M\nmax_body: 2M": "FILE: 'max_body' at line 2 was already set at line 1",
    "keep_alive: 10": "FILE: 'keep_alive' at line 1 must be a duration from 100ms to 1h: did you mean 10s?",
    "\nkeep_alive: 10 minutes": "FILE: 'keep_alive' at line 2 must be a duration from 100ms to 1h: did you mean 10m?",
    "keep_alive: 2h": "FILE: 'keep_alive' at line 1 must be a duration from 100ms to 1h",
    "keep_alive: [10s]": "FILE: 'keep_alive' at line 1 must be a duration from 100ms to 1h",
    "max_body: 10MB": "FILE: 'max_body' at line 1 must be a size from 1K to 1G: did you mean 10M?",
    "max_connections: 20_000": "FILE: 'max_connections' at line 1 must be a whole number from 1 to 1000000: did you mean 20000?",
    "durability: relaxd": "FILE: 'durability' at line 1 must be full or relaxed: did you mean relaxed?",
    "demo: maybe": "FILE: 'demo' at line 1 must be true or false",
    "demo: ture": "FILE: 'demo' at line 1 must be true or false: did you mean true?",
    "listen: 8400": "FILE: 'listen' at line 1 must be ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH, with a numeric "
                    "address: did you mean 127.0.0.1:8400?",
    "data: ${NO_SUCH_VARIABLE}": "FILE: 'data' at line 1: the environment has no NO_SUCH_VARIABLE",
    'data: "@/no/such/file"': "FILE: 'data' at line 1: /no/such/file: No such file or directory",
    "agents:\n  a:\n    comand: [x]": "FILE: unknown setting 'comand' at line 3: did you mean 'command'?",
    "agents:\n  a:\n    pool: {sise: 3}\n    command: [x]": None,
    "agents:\n  a:\n    lease: 1min\n    command: [x]":
        "FILE: 'lease' at line 3 must be a duration from 100ms to 1d: did you mean 1m?",
    "agents:\n  a: {}": None,
    "max_body: *x": None,
    "max_body: !!int 4": None,
    "{": None,
}


@cases(list(FILES), name=repr)
def in_a_file(yaml):
    err = config("check", file=yaml + "\n", want=2).err
    check(err.startswith("FILE: ") and "line " in err, err)
    if FILES[yaml] is not None:
        equal(err, FILES[yaml])


@case
def on_the_command_line():
    for args, want in {
        ("--max-boddy=4M",): "there is no option --max-boddy: did you mean --max-body?",
        ("--max-body",): "--max-body needs a value",
        ("--max-body", "--loops"): "--max-body needs a value",
        ("extra",): "there is no place for 'extra': options only",
        ("--no-listen",): "there is no option --no-listen",
        ("--keep-alive", "10"): "--keep-alive must be a duration from 100ms to 1h: did you mean 10s?",
        ("--config", "/no/such.yaml"): "/no/such.yaml: No such file or directory",
    }.items():
        equal(config("check", *args, want=2).err, want)


@case
def in_the_environment():
    equal(config("check", env={"SPOOLWIRE_MAX_BODDY": "1"}, want=2).err,
          "unknown variable SPOOLWIRE_MAX_BODDY: did you mean SPOOLWIRE_MAX_BODY?")
    equal(config("check", env={"SPOOLWIRE_MAX_BODY": "10MB"}, want=2).err,
          "SPOOLWIRE_MAX_BODY must be a size from 1K to 1G: did you mean 10M?")
    equal(config("check", env={"PORT": "x"}, want=2).err, "PORT must be a whole number from 0 to 65535")
    config("check", env={"SPOOLWIRE_SOMETHING_ELSE": "1", "SPOOLWIRE_URL": "http://x", "SPOOLWIRE_TOKEN": "x"})


@case
def two_databases():
    both = "data and store are both given, and each names the database: leave one of them out"
    for file, env, args in (("data: a.db\nstore: b.db\n", {}, ()), ("store: b.db\n", {"SPOOLWIRE_DATA": "a.db"}, ()),
                            ("", {}, ("--data", "a.db", "--store", "b.db"))):
        equal(config("check", *args, file=file, env=env, want=2).err, both)
    for flag, other in (("data", "store"), ("store", "data")):  # a flag wins over file and environment
        shown = config("show", "--json", f"--{flag}", "a.db", file=f"{other}: b.db\n").json["options"]
        equal((shown[flag]["value"], shown[other]["value"]), ("a.db", None))


@case
def a_database_that_is_none():
    """Also for `config show`, which would print it."""
    for text, want in {
        "mysql://me:s3cr3t@h/x": 'there is no store for "mysql://": give sqlite:PATH, postgres://USER@HOST/DATABASE, or '
                                 "the path alone",
        "postgres://me:s3cr3t@h/x": "the URL of the database has a password, which `ps` and logs would show: put it into "
                                    "~/.pgpass, a file (passfile=FILE in the URL) or PGPASSWORD",
    }.items():
        for option in ("data", "store"):
            for action in ("check", "show"):
                equal(config(action, file=f"{option}: {text}\n", want=2).err, f"{option}: {want}")
    equal(config("check", file="store: service=x\n", want=2).err,
          "store: this is neither a URL nor a path: write postgres://USER@HOST/DATABASE, or postgres://?service=NAME")


@case
def an_error_never_shows_a_secret():
    for option in SERVER:
        if option["secret"]:
            secret = "s3cr3t-" * 60
            variable = "SPOOLWIRE_" + option["name"].upper()
            done = config("show", env={variable: secret}, want=2 if option["type"] == "text" else 0)
            check("s3cr3t" not in done.out + done.err, done.out + done.err)
