# task-recovery: needs cargo (Rust 1.89), a C compiler, make and a POSIX sh.
PREFIX = /usr/local
DESTDIR =
LIBEXECDIR = $(PREFIX)/libexec/task-recovery
CARGO = cargo
TARGET = $${CARGO_TARGET_DIR:-target}

PROGRAMS = card checkpoint watch resume heartbeat-install
SCRIPTS = tests/demo.sh tests/demo/adapter.sh heartbeat-install/assets/recovery-pass heartbeat-install/assets/templates/task_resume.sh
MANUALS = card/card.1 checkpoint/checkpoint.1 watch/watch.1task resume/resume.1 heartbeat-install/heartbeat-install.1

all:
	$(CARGO) build --release --locked --workspace --exclude tests --bins

# A task is cut, seen, brought back and finished.
demo: all
	sh tests/demo.sh "$(TARGET)/release"

test:
	$(CARGO) build --locked --workspace --exclude tests --bins
	$(CARGO) test --locked --workspace --exclude tests --no-fail-fast
	$(CARGO) test --locked --package tests --no-fail-fast

# Why it can be trusted: layers of harm, each with a figure and a control; see tests/README.md. LAYERS names some of them.
LAYERS =
proof:
	$(CARGO) build --release --locked --workspace --exclude tests --bins
	$(CARGO) build --profile proof --locked --package tests --bins
	"$(TARGET)/proof/proof" $(LAYERS)

# What it costs, beside what people would use instead: figures of one run on one machine.
bench:
	$(CARGO) build --release --locked --workspace --exclude tests --bins
	$(CARGO) run --release --locked --quiet --package tests --bin bench

# What needs a tool that is not there says so and goes on.
check:
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --workspace --no-deps --document-private-items
	@if command -v shellcheck >/dev/null; then echo shellcheck $(SCRIPTS); shellcheck -s sh $(SCRIPTS); \
	else echo 'check: shellcheck is not installed: the shell scripts were not checked'; fi
	@if command -v mandoc >/dev/null; then echo mandoc -Tlint $(MANUALS); mandoc -Tlint -W warning $(MANUALS); \
	else echo 'check: mandoc is not installed: the manuals were not checked'; fi

# Copies what "make" built. Not into bin: a bare "watch" there would hide another program of that name.
install:
	@for p in $(PROGRAMS); do test -x "$(TARGET)/release/$$p" || { echo 'install: nothing is built: run make first' >&2; exit 1; }; done
	mkdir -p "$(DESTDIR)$(LIBEXECDIR)"
	for p in $(PROGRAMS); do install -m 755 "$(TARGET)/release/$$p" "$(DESTDIR)$(LIBEXECDIR)/$$p" || exit 1; done

uninstall:
	for p in $(PROGRAMS); do rm -f "$(DESTDIR)$(LIBEXECDIR)/$$p"; done
	-rmdir "$(DESTDIR)$(LIBEXECDIR)"

clean:
	$(CARGO) clean

.PHONY: all demo test proof bench check install uninstall clean
