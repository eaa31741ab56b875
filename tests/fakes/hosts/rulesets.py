"""Small rulesets, as nft and iptables-save print them."""

NFT = "nft -a -t list ruleset"
FIB = "fib saddr . mark . iif oif missing"


def nft_text(*rules: str, priority: int = -150, sub: bool = False, family: str = "inet") -> str:
    """One table, one prerouting chain `pre`; with `sub` the last rule stands in a chain of that name."""
    numbered = [f"\t\t{rule} # handle {number}" for number, rule in enumerate(rules, 4)]
    below = numbered[-1:] if sub else []
    lines = [f"table {family} mine {{ # handle 1", "\tchain sub { # handle 2", *below, "\t}"]
    lines += [
        "\tchain pre { # handle 3",
        f"\t\ttype filter hook prerouting priority {priority}; policy accept;",
    ]
    return "\n".join((*lines, *numbered[: len(numbered) - len(below)], "\t}", "}", ""))


def save_text(table: str, *rules: str) -> str:
    return "\n".join((f"*{table}", ":PREROUTING ACCEPT [0:0]", *rules, "COMMIT", ""))
