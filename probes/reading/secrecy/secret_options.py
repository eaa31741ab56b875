"""Programs whose options take a secret without saying so by their names: `mysql -pSECRET`, `curl -u user:SECRET`."""

import re
from collections.abc import Sequence
from typing import NamedTuple


class Takes(NamedTuple):
    """`word` holds the secret itself, `value` where the word before is `option`; it begins behind their first group."""

    word: str = "(?!)"
    option: str = "(?!)"
    value: str = "()(?!-).+"


_ATTACHED = Takes(word="(-p).+")
_TABLE: tuple[tuple[str, Takes], ...] = (
    ("mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlshow mysqlpump mysqlslap mysqlsh", _ATTACHED),
    ("mariadb mariadb-dump mariadb-admin mariadb-import mariadb-check 7z 7za 7zz", _ATTACHED),
    ("rar unrar", Takes("(-h?p).+")),
    ("sshpass mongo mongodump mongorestore mongostat mycli youtube-dl yt-dlp", Takes("(-p).+", "-p")),
    ("docker:login podman:login buildah:login skopeo:login oc:login az:login", Takes("(-p).+", "-p")),
    (
        "curl",
        Takes(
            "(-[uU][^:]+:|--(?:proxy-)?user=[^:]+:|-b[^=]+=|--cookie=[^=]+=).+",
            r"-\w*[uU]|--(?:proxy-)?user|-b|--cookie",
            "([^:=]*[:=]).+",
        ),
    ),
    ("http https xh", Takes("(-a[^:]+:|--auth=[^:]+:).+", "-a|--auth", "([^:]*:).+")),
    ("smbclient smbget rpcclient", Takes("(-U[^%]+%|--user=[^%]+%).+", "-U|--user", "([^%]*%).+")),
    ("redis-cli valkey-cli", Takes("(-a).+", "(?i:-a|auth)")),
    ("redis-benchmark valkey-benchmark", Takes("(-a).+", "-a")),
    (
        "ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd ldapcompare ldapmodrdn ldapexop ldapvi",
        Takes("(-[wsa]).+", "-[wsa]"),
    ),
    ("ipmitool", Takes("(-[PKky]).+", "-[PKky]")),
    ("sqlcmd bcp isql tsql zip unzip osql", Takes("(-P).+", "-P")),
    # FreeIPMI
    (
        "ipmipower ipmi-power ipmi-sensors ipmi-sel ipmi-fru ipmi-chassis ipmi-raw ipmi-oem ipmi-dcmi ipmiconsole "
        "bmc-config bmc-info ipmi-config",
        Takes("(-[pk]).+", "-[pk]"),
    ),
    (
        "racadm ilorest redfishtool sum wsman cqlsh beeline",
        Takes("(-p).{5,}", "-p"),
    ),
    (
        "fence_ipmilan fence_idrac fence_ilo fence_ilo4 fence_ilo5 fence_apc fence_apc_snmp fence_drac5 fence_redfish",
        Takes("(-p).+", "-p"),
    ),
    (
        "mydumper cypher-shell hammer esxcli twine helm uemcli condor_store_cred dcache rabbitmqadmin openfortivpn "
        "ncftpput ncftpget pcs couchbase-cli cbbackupmgr ipa-server-install mongosh kpwd check_mysql check_pgsql "
        "check_ldap smbmap",
        Takes(option="-p"),
    ),
    ("kdb5_util mosquitto_pub mosquitto_sub knife check_ipmi_sensor check_ldap", Takes(option="-P")),
    ("vsql kadmin dsconf dsidm ldapvi", Takes(option="-w")),
    ("slappasswd", Takes(option="-s")),
    ("ss-server ss-local keepassxc-cli nuget", Takes(option="-k")),
    ("nvme", Takes(option="-[sSC]|--dhchap-(?:ctrl-)?secret", value="()(?!-)(?=.*[A-Za-z]).{8,}")),
    ("frpc zerotier-cli", Takes("(-T).+", "-t")),
    ("gitlab-runner", Takes(option="-(?:r|-registration-token)")),
    ("ceph rbd rados ceph-fuse", Takes("(--key=).+", "--key")),
    ("swaks", Takes(option="-ap")),
    ("sedutil-cli", Takes("()(?!-)(?!/)(?!(?:on|off|RW|RO|LK|Y|N)$)(?=.*[A-Za-z]).+|()[0-9]{4,}")),
    ("hdparm", Takes(option="--security-(?:unlock|set-pass|disable|erase(?:-enhanced)?)")),
    ("vault:operator", Takes(option="unseal")),
    (
        "bw:unlock cargo:login ngrok:authtoken rclone:obscure neo4j-admin:set-initial-password",
        Takes("()(?!-).+"),
    ),
    ("bw:login", Takes("()(?!-)(?!.*@).+")),
    ("radtest", Takes("()(?!-)(?=.*[A-Za-z!#$%^&*?~])(?=.*[\\d!#$%^&*?~]).{6,}")),
    ("kaggle", Takes(option="-v")),
    ("az aws", Takes(option="--value|--secret-string")),
    ("mosquitto_passwd", Takes("()(?!-)(?!/)(?=.*[A-Za-z])(?=.*[\\d\\W]).{6,}")),
    ("swift", Takes(option="-K")),
    ("doctl", Takes(option="-t")),
    ("sendemail", Takes(option="-xp")),
    ("snmpget snmpwalk snmpbulkwalk snmptable snmpset snmpgetnext snmptrap", Takes("(-[AXc]).+", "-[AXc]")),
    ("keytool jarsigner", Takes(option="-(?:store|key|new|src|dest|srcstore|deststore|srckey|destkey)pass")),
    ("openssl", Takes(option="-(?:passin|passout|pass|k|K|password|macopt|srp_pass|psk)")),
    ("ssh-keygen", Takes(option="-[NP]")),
    ("xfreerdp wlfreerdp", Takes("(/p:).+")),
    ("x11vnc vncviewer rdesktop", Takes(option="-(?:passwd|p|password)")),
    ("useradd usermod", Takes(option="-p|--password")),
    ("wpa_passphrase mkpasswd", Takes("()(?!-).{8,}")),
    ("net winexe wmic", Takes("(-U[^%]+%|--user=[^%]+%).+", "-U|--user", "([^%]*%).+")),
    ("lftp", Takes("(-u[^,]+,).+", "-u", "([^,]*,).+")),
    ("sqlplus rman expdp impdp exp imp sqlldr", Takes(r"((?:userid=)?[\w$#]+/)(?:[^/@\s]+|\".*\")(?:@\S+)?")),
    ("etcdctl", Takes("(--user=[^:]+:).+", "--user", "([^:]*:).+")),
    ("vault:login", Takes(r"()(?!-)(?!\w+=[^=]).+")),
    ("kubectl oc", Takes("(--from-literal=[^=]+=).+", "--from-literal", "([^=]*=).+")),
    ("iscsiadm", Takes("(--value=).+", "-v|--value")),
    ("htpasswd", Takes(word=r"()(?!-)(?!/)(?=.*[A-Za-z])(?=.*[\d\W]).{6,}")),
    ("rucio", Takes(option="-pwd|--pwd")),
    ("ssh scp sftp rsync", Takes()),  # behind sshpass, with a port
)
_BY_NAME = {name: takes for names, takes in _TABLE for name in names.split()}
PROGRAMS = tuple(name.partition(":")[0] for name, takes in _BY_NAME.items() if takes != Takes())
_BETWEEN = re.compile(r"[;|&\n]+")


def find_secret_starts(words: Sequence[str]) -> list[int | None]:
    """For each word of a command where the secret in it begins; None where none is known."""
    starts: list[int | None] = []
    takes, before = Takes(), ""
    for word in words:
        name = word.rpartition("/")[2]
        secret = re.fullmatch(takes.word, word, re.DOTALL)
        if re.fullmatch(takes.option, before):
            secret = re.fullmatch(takes.value, word, re.DOTALL)
        starts.append(secret.end(1) if secret else None)
        if _BETWEEN.fullmatch(word):
            takes = Takes()
        elif secret is None:
            takes = _BY_NAME.get(f"{before.rpartition('/')[2]}:{name}") or _BY_NAME.get(name, takes)
        before = word
    return starts
