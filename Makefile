# task-recovery: needs cargo (Rust 1.89), a C compiler, make and a POSIX sh.
PREFIX = /usr/local
DESTDIR =
LIBEXECDIR = $(PREFIX)/libexec/task-recovery
MANDIR = $(PREFIX)/share/man
BINDIR = $(PREFIX)/bin
BASHDIR = $(PREFIX)/share/bash-completion/completions
ZSHDIR = $(PREFIX)/share/zsh/site-functions
FISHDIR = $(PREFIX)/share/fish/vendor_completions.d
# With PROGRAM_PREFIX=task- the programs are also in BINDIR, as task-card, task-watch and so on.
PROGRAM_PREFIX =
CARGO = cargo
TARGET = $${CARGO_TARGET_DIR:-target}
# With PROFILE=dev the programs are built without optimizing, in seconds; say it to "make install" and "make demo", too.
PROFILE = release
BUILT = $(TARGET)/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))

PROGRAMS = card checkpoint watch resume heartbeat-install
# What completions are found by, for shells that look for a file a command.
COMPLETED = $(filter-out watch,$(PROGRAMS)) $(PREFIXED)
PREFIXED = $(if $(PROGRAM_PREFIX),$(addprefix $(PROGRAM_PREFIX),$(PROGRAMS)))
PREFIXED_MANUALS = $(if $(PROGRAM_PREFIX),$(addprefix $(PROGRAM_PREFIX),$(notdir $(filter %.1 %.1task,$(MANUALS)))))
# Puts the prefix into the line of a file of completions that names it, and the prefixed names after zsh's #compdef.
COMPLETIONS = sed -e "s/^_task_recovery_prefix=.*/_task_recovery_prefix='$(PROGRAM_PREFIX)'/" \
	-e "s/^set -l task_recovery_prefix .*/set -l task_recovery_prefix '$(PROGRAM_PREFIX)'/" -e 's/^\#compdef .*/& $(PREFIXED)/'
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
DIST = task-recovery-$(VERSION)
DISTDIR = .
SCRIPTS = tests/demo.sh tests/demo/adapter.sh heartbeat-install/assets/recovery-pass heartbeat-install/assets/templates/task_resume.sh
MANUALS = card/card.1 checkpoint/checkpoint.1 watch/watch.1task resume/resume.1 heartbeat-install/heartbeat-install.1 \
	man/task-card.5 man/task-recovery.7

all:
	$(CARGO) build --profile $(PROFILE) --locked --workspace --exclude tests --bins

# A task is cut, seen, brought back and finished.
demo: all
	sh tests/demo.sh "$(BUILT)"

# The last ones mostly wait for the programs: twice as many at once as there are processors.
test:
	$(CARGO) build --locked --workspace --exclude tests --bins
	$(CARGO) test --locked --workspace --exclude tests --no-fail-fast
	RUST_TEST_THREADS="$${RUST_TEST_THREADS:-$$((2 * $$(getconf _NPROCESSORS_ONLN)))}" \
		$(CARGO) test --locked --package tests --no-fail-fast

# Why it can be trusted: layers of harm, each with a figure and a control; see tests/README.md. LAYERS names some of them,
# SEED repeats a run.
LAYERS =
SEED =
proof:
	$(CARGO) build --release --locked --workspace --exclude tests --bins
	$(CARGO) build --profile proof --locked --package tests --bins
	"$(TARGET)/proof/proof" $(if $(SEED),--seed $(SEED)) $(LAYERS)

# What it costs, beside what people would use instead: figures of one run on one machine.
bench:
	$(CARGO) build --release --locked --workspace --exclude tests --bins
	$(CARGO) run --release --locked --quiet --package tests --bin bench

ADAPTERS = heartbeat-install/assets/run-ended heartbeat-install/assets/adapters/*.sh

# What needs a tool that is not there says so and goes on.
check:
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --workspace --no-deps --document-private-items
	@if command -v shellcheck >/dev/null; then echo shellcheck $(SCRIPTS) $(ADAPTERS); shellcheck -s sh $(SCRIPTS) $(ADAPTERS) && \
	shellcheck -s bash completions/task-recovery.bash; \
	else echo 'check: shellcheck is not installed: the shell scripts were not checked'; fi
	@if command -v mandoc >/dev/null; then echo mandoc -Tlint $(MANUALS); mandoc -Tlint -W warning $(MANUALS); \
	else echo 'check: mandoc is not installed: the manuals were not checked'; fi

# Copies what "make" built. The programs go into a folder of their own and not into bin: a bare "watch" there would hide another
# program of that name. For the same reason its manual is watch(1task), and bash and fish get no file of completions for it: those of
# the others complete it, too, where the watch on the PATH is this one. All names are quoted: paths may have spaces.
# Folders are made so that everyone may use what is in them, whatever the umask of who installs.
install:
	@case '$(PROGRAM_PREFIX)' in *[!A-Za-z0-9._-]* | -*) echo 'install: PROGRAM_PREFIX may have letters, digits, ".", "_" and "-"' >&2; exit 1 ;; esac
	@for p in $(PROGRAMS); do test -x "$(BUILT)/$$p" || { echo 'install: nothing is built: run make first' >&2; exit 1; }; done
	umask 022 && mkdir -p "$(DESTDIR)$(LIBEXECDIR)" "$(DESTDIR)$(BASHDIR)" "$(DESTDIR)$(ZSHDIR)" "$(DESTDIR)$(FISHDIR)"
	for p in $(PROGRAMS); do install -m 755 "$(BUILT)/$$p" "$(DESTDIR)$(LIBEXECDIR)/$$p" || exit 1; done
	for m in $(MANUALS); do d="$(DESTDIR)$(MANDIR)/man$$(expr "$$m" : '.*[.]\([0-9]\)')" && (umask 022 && mkdir -p "$$d") && \
		install -m 644 "$$m" "$$d/$${m##*/}" || exit 1; done
	$(COMPLETIONS) <completions/task-recovery.bash >"$(DESTDIR)$(BASHDIR)/task-recovery"
	$(COMPLETIONS) <completions/_task-recovery >"$(DESTDIR)$(ZSHDIR)/_task-recovery"
	$(COMPLETIONS) <completions/task-recovery.fish >"$(DESTDIR)$(FISHDIR)/task-recovery.fish"
	chmod 644 "$(DESTDIR)$(BASHDIR)/task-recovery" "$(DESTDIR)$(ZSHDIR)/_task-recovery" "$(DESTDIR)$(FISHDIR)/task-recovery.fish"
	for c in $(COMPLETED); do ln -sfn task-recovery "$(DESTDIR)$(BASHDIR)/$$c" && \
		ln -sfn task-recovery.fish "$(DESTDIR)$(FISHDIR)/$$c.fish" || exit 1; done
	test -z "$(PROGRAM_PREFIX)" || { umask 022 && mkdir -p "$(DESTDIR)$(BINDIR)"; }
	case "$(LIBEXECDIR)" in /*) to="$(LIBEXECDIR)" ;; *) to="$$PWD/$(LIBEXECDIR)" ;; esac; \
	for p in $(PREFIXED); do ln -sfn "$$to/$${p#"$(PROGRAM_PREFIX)"}" "$(DESTDIR)$(BINDIR)/$$p" || exit 1; done
	for m in $(PREFIXED_MANUALS); do ln -sfn "$${m#"$(PROGRAM_PREFIX)"}" "$(DESTDIR)$(MANDIR)/man1/$$m" || exit 1; done

# Takes away what "make install" with the same variables put there, and the folders of ours that are empty then.
uninstall:
	for p in $(PROGRAMS); do rm -f "$(DESTDIR)$(LIBEXECDIR)/$$p" || exit 1; done
	rmdir "$(DESTDIR)$(LIBEXECDIR)" 2>/dev/null || true
	for m in $(MANUALS); do rm -f "$(DESTDIR)$(MANDIR)/man$$(expr "$$m" : '.*[.]\([0-9]\)')/$${m##*/}" || exit 1; done
	rm -f "$(DESTDIR)$(BASHDIR)/task-recovery" "$(DESTDIR)$(ZSHDIR)/_task-recovery" "$(DESTDIR)$(FISHDIR)/task-recovery.fish"
	for f in $(COMPLETED:%="$(DESTDIR)$(BASHDIR)/%") $(COMPLETED:%="$(DESTDIR)$(FISHDIR)/%.fish") \
		$(PREFIXED:%="$(DESTDIR)$(BINDIR)/%") $(PREFIXED_MANUALS:%="$(DESTDIR)$(MANDIR)/man1/%"); do \
		if test -L "$$f"; then rm -f "$$f" || exit 1; fi; done

# The source as a tarball, the same bytes from the same commit: order, times and owners are fixed. What is not committed is not in it.
dist:
	@test -e .git && git rev-parse --verify -q HEAD >/dev/null || { echo 'dist: this is no git checkout, and the tarball is made of a commit' >&2; exit 1; }
	git -c tar.umask=0022 -c core.autocrlf=false archive --format=tar --prefix="$(DIST)/" --output="$(DISTDIR)/$(DIST).tar" HEAD
	gzip -n -9 -f "$(DISTDIR)/$(DIST).tar"

clean:
	$(CARGO) clean

.PHONY: all demo test proof bench check install uninstall dist clean
