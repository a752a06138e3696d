# Stands in for OpenSSL's util/mkdef.pl, which the openssl-src crates leave out and without which its Makefile links no
# shared library: turns a list of exported symbols (util/libcrypto.num, util/libssl.num) into the linker's version script.
use strict;
use warnings;
use Getopt::Long qw(:config pass_through);

my $list;
GetOptions("ordinals=s" => \$list) && $list or die "usage: mkdef.pl --ordinals FILE\n";
open(my $lines, "<", $list) or die "$list: $!\n";
my %symbols;
while (<$lines>) {
    my ($name, undef, $version, $kind) = split;
    push @{$symbols{$version =~ tr/_/./r}}, $name if $kind =~ /^EXIST:/;
}

# A version is a node that inherits from the one before it; the first hides all other symbols.
my ($others, $before) = ("local: *;", "");
for my $version (sort { version->parse("v$a") <=> version->parse("v$b") } keys %symbols) {
    print "OPENSSL_$version { global: ", map({ "$_; " } @{$symbols{$version}}), "$others } $before;\n";
    ($others, $before) = ("", "OPENSSL_$version");
}
