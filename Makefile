# fastkex. Begin with `make demo` (five minutes on a fresh machine) and `make test` (twenty to
# thirty minutes). CONTRIBUTING.md has the others.

CARGO ?= cargo
# Further arguments of cargo for `make`, as --locked.
CARGO_FLAGS ?=
PREFIX ?= /usr/local
# The folders of C libraries, of the module, and of completions for zsh. The command finds the
# module in lib/fastkex beside its own folder and in libcrypto's folder of modules:
# MODULESDIR=$(pkg-config --variable=modulesdir libcrypto).
LIBDIR ?= $(PREFIX)/lib
MODULESDIR ?= $(PREFIX)/lib/fastkex
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# Handshakes of `make soak`. Ten million take some hours.
COUNT ?= 10000000
# The C libraries: libNAME from crypto/NAME-capi.
C_LIBRARIES := sntrup mlkem
OUT := $(or $(CARGO_TARGET_DIR),target)/release
# Man pages and completions, as release-files has written them.
PAGES := $(OUT)/pages

FULL :=

.PHONY: all module legacy test test-applications test-peers test-watching check demo demo-browser demo-1.1.1 soak test-matrix bench ceiling reproduce races fuzz install uninstall package test-packages clean

all: module

module:
	@scripts/prerequisites build
	$(CARGO) build --release $(CARGO_FLAGS) --package fastkex --package openssl-provider --package release-files \
		$(C_LIBRARIES:%=--package %-capi)
	@cp -f $(OUT)/libfastkex_provider.so $(OUT)/fastkex.so.new && mv -f $(OUT)/fastkex.so.new $(OUT)/fastkex.so
	@rm -rf $(PAGES) && $(OUT)/release-files pages $(PAGES)

demo:
	@scripts/prerequisites demo
	@$(CARGO) run --quiet --release --package fastkex-lab -- demo

demo-browser:
	@scripts/prerequisites browser
	@$(CARGO) run --quiet --release --package fastkex-lab -- demo-browser

# OpenSSL 1.1.1 as in the paper, see lab/legacy/README.md. FULL=1 uses the paper's size, which takes
# hours.
demo-1.1.1:
	@scripts/demo-1.1.1 $(if $(FULL),--full)

# Patched OpenSSL 1.1.1 and engntru.so.
legacy:
	@lab/legacy/openssl-1.1.1/build
	$(CARGO) build --release --package openssl-engine
	@cp -f $(OUT)/libengntru.so $(OUT)/engntru.so.new && mv -f $(OUT)/engntru.so.new $(OUT)/engntru.so

soak:
	@scripts/prerequisites soak
	@$(CARGO) run --quiet --release --package fastkex-lab -- soak --count $(COUNT)

test:
	@scripts/prerequisites test
	@scripts/test

# Installs the applications of docs/applications.md and tests each line, and stock browsers with
# stock servers. GNOME Web needs a display and a bus, so its demonstration tests it.
test-applications:
	@scripts/prerequisites applications
	@scripts/prerequisites browser
	@scripts/unpack exim4-daemon-light libldap-2.5-0 wget
	FASTKEX_TEST_APPLICATIONS=all $(CARGO) test --package fastkex --test applications
	FASTKEX_TEST_APPLICATIONS=all $(CARGO) test --package fastkex-lab --test browsers
	@$(CARGO) run --quiet --release --package fastkex-lab -- demo-browser

# Other TLS stacks as clients and servers, see docs/peers.md.
test-peers:
	@scripts/test-peers

# The counts of stock nginx in a real Prometheus, see docs/watching.md.
test-watching:
	@scripts/prerequisites watching
	FASTKEX_TEST_APPLICATIONS=all $(CARGO) test --package fastkex --test watching --test stats

test-matrix:
	@scripts/test-matrix

bench:
	@scripts/prerequisites bench
	@scripts/bench

ceiling:
	@scripts/ceiling

# The papers' measurements. They are written to docs/results/reproduction, which git ignores. FULL=1
# uses the papers' sizes, which takes hours.
reproduce:
	@scripts/reproduce $(if $(FULL),--full)

races:
	@scripts/races

fuzz:
	@scripts/prerequisites test
	@scripts/fuzz 60

# Debian packages and RPMs, in target/package: see docs/packages.md.
package:
	@scripts/prerequisites package
	@scripts/package

test-packages:
	@scripts/prerequisites packages
	@scripts/test-packages

# Copies what `make` has built, without cargo: root may have none.
install:
	@for file in fastkex fastkex.so $(C_LIBRARIES:%=lib%.so) $(C_LIBRARIES:%=lib%.a) pages; do \
		test -e $(OUT)/$$file || { echo "make install: no $(OUT)/$$file: run make first" >&2; exit 2; }; \
	done
	install -D -m 755 $(OUT)/fastkex $(DESTDIR)$(PREFIX)/bin/fastkex
	install -D -m 644 $(OUT)/fastkex.so $(DESTDIR)$(MODULESDIR)/fastkex.so
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $(PAGES)/man1/* $(DESTDIR)$(PREFIX)/share/man/man1
	install -D -m 644 $(PAGES)/bash/fastkex.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/fastkex
	install -D -m 644 $(PAGES)/zsh/_fastkex $(DESTDIR)$(ZSHDIR)/_fastkex
	install -D -m 644 $(PAGES)/fish/fastkex.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/fastkex.fish
	for name in $(C_LIBRARIES); do \
		install -D -m 644 $(OUT)/lib$$name.so $(DESTDIR)$(LIBDIR)/lib$$name.so.0 && \
		ln -sf lib$$name.so.0 $(DESTDIR)$(LIBDIR)/lib$$name.so && \
		install -D -m 644 $(OUT)/lib$$name.a $(DESTDIR)$(LIBDIR)/lib$$name.a && \
		install -D -m 644 crypto/$$name-capi/include/$$name.h $(DESTDIR)$(PREFIX)/include/$$name.h && \
		sed 's|@prefix@|$(PREFIX)|; s|@libdir@|$(LIBDIR)|; s|@version@|$(VERSION)|' crypto/$$name-capi/$$name.pc.in \
			> $(DESTDIR)$(LIBDIR)/pkgconfig/$$name.pc || exit 1; \
	done

# Needs the same variables as `make install`.
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/fastkex $(DESTDIR)$(MODULESDIR)/fastkex.so
	rm -f $(DESTDIR)$(PREFIX)/share/man/man1/fastkex.1 $(DESTDIR)$(PREFIX)/share/man/man1/fastkex-*.1
	rm -f $(DESTDIR)$(PREFIX)/share/bash-completion/completions/fastkex $(DESTDIR)$(ZSHDIR)/_fastkex \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/fastkex.fish
	for name in $(C_LIBRARIES); do \
		rm -f $(DESTDIR)$(PREFIX)/include/$$name.h $(DESTDIR)$(LIBDIR)/pkgconfig/$$name.pc \
			$(DESTDIR)$(LIBDIR)/lib$$name.so $(DESTDIR)$(LIBDIR)/lib$$name.so.0 \
			$(DESTDIR)$(LIBDIR)/lib$$name.a || exit 1; \
	done
	test $(notdir $(MODULESDIR)) != fastkex || rmdir $(DESTDIR)$(MODULESDIR) 2>/dev/null || :

clean:
	$(CARGO) clean
	rm -rf checks/bench/target checks/fuzz/target checks/matrix/target checks/peers/target
