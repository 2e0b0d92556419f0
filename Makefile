# The short names.  Meson does the building (scripts/build has the variants), and
# scripts/check the testing.

PREFIX ?= /usr/local
DESTDIR ?=

all:
	@scripts/deps build
	@scripts/build release

run: all
	@scripts/run $(ARGS)

# A recorded run through the filter, at a readable rate.
play: all
	@scripts/play

check:
	@scripts/deps check
	@scripts/check

bench: all
	@scripts/deps bench
	@bench/run build/release
	@bench/gateway/run build/release

# Rewrites the expected bytes; the diff is what gets reviewed.
golden: all
	@tests/golden/run build/release --write

# Puts what the program says about itself into the documents.
docs: all
	@scripts/docs build/release

format:
	@find src include tests bench -name '*.[ch]' | xargs clang-format -i

install: all
	meson configure build/release --prefix $(PREFIX)
	meson install -C build/release $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

clean:
	rm -rf build

.PHONY: all run play check bench golden docs format install clean
