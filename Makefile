# The short names.  Meson does the building (scripts/build has the variants), and
# scripts/check the testing.

PREFIX ?= /usr/local
DESTDIR ?=
# Where the unit looks for its settings: Meson's choice.
ETC = $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)

all:
	@scripts/deps build
	@scripts/build release

run: all
	@scripts/run $(ARGS)

# A recorded run through the filter, at a readable rate.
play: all
	@scripts/play

# Three gateways over one PostgreSQL, behind nginx; the one that writes is killed in the middle of a run.
cluster: all
	@scripts/deps cluster
	@examples/cluster/run

check:
	@scripts/deps check
	@scripts/check

# The same, and what takes longer: every sanitizer over every suite it fits, longer fuzzing.
check-all:
	@scripts/deps check
	@scripts/check --all

bench: all
	@scripts/deps bench
	@bench/run build/release
	@bench/gateway/run build/release
	@bench/gateway/instructions build/release
	@bench/langgraph/run build/release
	@bench/engines/run build/release

# Rewrites the expected bytes; the diff is what gets reviewed.
golden: all
	@tests/pipeline/golden/run build/release --write

# Puts what the program says about itself into the documents.
docs: all
	@scripts/docs build/release

# The console's bundle, from src/console/app; kept in the tree, so that a build needs no Node.
console:
	@$$(scripts/node) src/console/app/build.mjs "$$(scripts/packages src/console/app)"

format:
	@find src include tests bench -name '*.[ch]' | xargs clang-format -i

install: all
	meson configure build/release --prefix $(PREFIX)
	meson install -C build/release $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))
	test -e $(DESTDIR)$(ETC)/spoolwire/spoolwire.yaml || \
	    install -D -m 640 packaging/spoolwire.yaml $(DESTDIR)$(ETC)/spoolwire/spoolwire.yaml

# A Debian package, and a container image without a container engine.
deb image:
	@scripts/deps build
	@scripts/build package
	@scripts/package $@

clean:
	rm -rf build

.PHONY: all run play cluster check check-all bench golden docs console format install deb image clean
