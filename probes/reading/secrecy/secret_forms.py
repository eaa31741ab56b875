"""The forms of text that a secret has, whatever program it is given to: a table of pattern, what is kept, example."""

import re
from typing import NamedTuple

MASK = "***"

# `--password`, `db_password`, `PGPASSWORD`, `AWS_SECRET_ACCESS_KEY`, `api-key`, `--pw`; not `--passes`, `tokens`, `key`
NAME = (
    r"(?:[\w.-]*?(?:passwor[dt]|passwd|passphrase|passcode|secret)|(?:pwd|pass)_\w+|secret_key\w*|[\w.-]*[_-]pwd|(?:[\w.-]*[_.-])?(?:pass|pw|sshpass|token|credentials?|"
    r"auth|authorization|cookie|bearer|apikey|(?:api|auth|access|private|secret|signing|encryption|account|master)[_-]?key)"
    r")(?:[_-](?:key|value|string|id))?\d?"
)
_VALUE = r"(?:\"[^\"]*(?:\"|$)|'[^']*(?:'|$)|[^\s\"'&]+)"
_ASSIGNED = re.compile(
    rf"(?i)(?<![\w./-])(-{{0,2}}{NAME}\s?(?:=>|[=:])\s?)((?:bearer|basic|token|digest|negotiate)\s+)?{_VALUE}"
)
_FOLLOWS = re.compile(rf"(?i)(?<![\w.-])(--?{NAME}\s+)(?!-){_VALUE}")
ENDING = (
    r"(?!\w*(?:bypass|compass))(?:[\w.-]*\w(?:pass|passwds?|pw|pwd|token|secret|psk|secretkey|"
    r"(?:hmac|license|certificate|wandb|openai)[_-]key)|(?:so-)?pin|masterauth|hmac|seed-phrase|jwt|otp)"
)
_FOLLOWS_ENDING = re.compile(rf"(?i)(?<![\w.-])(--?{ENDING}\s+)(?!-){_VALUE}")
# names that end so without a separator (`DBPASS`, `LDAP_BINDPW`, `hosttoken`), with `=` alone: `bypass: yes` is none
_JOINED = re.compile(
    r"(?i)(?<![\w./-])(-{0,2}(?!\w*(?:bypass|compass|monkey|turkey|hotkey|donkey|passkey)=)"
    r"[\w.-]*\w(?:pass|passw|pw|pwd|key|token|secret|creds?|psk|otp|jwt|auth|authz|authenticate|passwds?)=|--?(?:jwt|otp|creds?|license|authenticate|webhook|[\w.-]+\.key|key)=)"
    r"(?!(?:\d{1,4}|yes|no|true|false|on|off|none|auto|~?/[^\s=]*|\./\S*)(?:[\s&,;'\"]|$))" + _VALUE
)
_JSON = re.compile(
    rf"(?i)(\\?[\"'](?:{NAME}|pwd|[\w.-]+(?:pass|pw|key|token|secret|pwd))\\?[\"']\s*:\s*)"
    r"(?:\\?\"(?:[^\"\\]|\\[^\"])*(?:\\?\"|$)|\\?'[^']*(?:'|$)|[^\s,}\]\"']+)"
)
_QUERY = re.compile(
    r"(?i)([?&;](?:sig|signature|authz|auth|hmac|jwt|sas|key|code|ticket|j?session(?:id)?|sid|pwd?|pass|sign|p(?==\D)|"
    r"x-(?:amz|goog|oss|cos)-(?:signature|credential|security-token)|awsaccesskeyid|googleaccessid|"
    r"[\w.-]*(?:key|token|secret|signature|password))=)[^&\s\"'#]+"
)
_STRONG = r"(?=[^\s'\"]*[A-Za-z])(?=[^\s'\"]*[\d!#$%^&*?~])[^\s'\"/:][^\s'\"/:]{5,}"
_PAIR_OPTION = re.compile(
    rf"((?<![\w-])(?:-[uU]|--user(?:name)?)(?:[ =]|(?<=-[uU]))['\"]?[A-Za-z_][^\s:'\"/@]*:){_STRONG}"
    r"|((?<![\w-])--?(?:auth|basic-?auth|creds?|credentials?|login|userpwd|userpass|proxy-user|account|logon)"
    r"[ =]['\"]?[A-Za-z_][^\s:'\"/@]*:)(?!\d+\b)[^\s'\"]{3,}"
)
# `admin:Passw0rd` anywhere: small and large letters with digits, or a character that no name or device has
_PAIR = re.compile(
    r"(?<![\w/@:.+=-])([A-Za-z_][\w.+-]{0,40}:)(?:(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)|(?=[\w.-]*[!#$%^&*?~]))"
    r"(?=\S*[A-Za-z])[\w!#$%^&*?~.+-]{6,}(?=@|[\s'\"]|$)"
)
_SQL = re.compile(
    r"(?i)(?<![\"'\\])(\b(?:identified\b[^'\";]{0,60}?\b(?:by|as)|password|passwd|secret|(?:secret|access)_(?:access_)?key(?:_id)?)"
    r"\s*(?:=|:|to)?\s*(?:password\s*\()?\s*)(?:\\?'(?:[^'\\])+(?:\\?'|$)|\\?\"(?:[^\"\\])+(?:\\?\"|$))"
)
_SET = re.compile(
    r"(?i)(\b(?:set|config|connect|setpass|put|write|insert)\s+(?:[\w.-]+\s+)??(?:--?[\w-]+(?:=\S+)?\s+)*[\w.:/-]*(?:passw(?:or)?d|secret|token|_key|"
    r"apikey|psk)[\w.]*\s+)(?!-)" + _VALUE
)
_PIPED = re.compile(
    r"(?i)(\b(?:echo|printf)\s+(?:-\w+\s+)*(?:['\"]?%\S+\s+)?)(?:\"[^\"]*\"|'[^']*'|\S+)(?=\s*\|\s*(?:\S*/)?(?:sudo|su|passwd|"
    r"chpasswd|kinit|docker|podman|cryptsetup|gpg|smbpasswd|vault|openssl|htpasswd|ssh-add|helm|gh|ansible-vault)\b)"
)
_HERE = re.compile(rf"(<<<\s*){_VALUE}")
_ECHOED = re.compile(r"(<\(\s*(?:echo|printf)\s+(?:-\w+\s+)*)[^)]+")
_UNQUOTED_SQL = re.compile(r"(?i)(\bidentified\s+by\s+(?:values?\s+)?)(?!password\b)[^\s'\";*\\]+")
_PERCENT = re.compile(r"(?i)(\buser(?:name)?=[^,\s%=]+%)[^,\s'\"]+")
_DOMAIN = re.compile(r"(?<![\w/@:.+-])(\w[\w.-]*/[\w.-]+:)[^\s/@:'\"]+(?=@[\w.-]+(?:\s|$))")
_SLASH = re.compile(r"(?i)((?<!\S)/p(?:assword)?:)\S+")
_KEY = re.compile(r"(?i)((?<!\S)--?key[ =])(?=\S*[A-Za-z])(?=\S*\d)[\w+=-]{8,}(?!\S)")
_QUOTED = r"(?:'[^']*(?:'|$)|\"[^\"]*(?:\"|$))"
_CALL = re.compile(
    rf"(?i)(\b(?:auth|login|connect|authenticate|database)\(\s*{_QUOTED}\s*,\s*){_QUOTED}(?:\s*,\s*{_QUOTED})?"
)
_SENT = re.compile(rf"(\bsend\s+(?:--\s+)?){_QUOTED}")
_ELEMENT = re.compile(r"(?i)(<(?:\w+:)?(?:\w*passw\w*|\w*secret|\w*token|pwd)>)[^<]+")
_FIELD = re.compile(r"(?i)(\b(?:pwd|passwd|password)\s*:\s*)(?:'[^']*(?:'|$)|\"[^\"]*(?:\"|$))")
_HOOK = re.compile(
    r"(?i)(/services/\w+/\w+/|/(?:api/)?webhooks?/(?:\d+/)?|/bot\d+:|\bconda[^\s/]*/t/)[^\s\"'?]+"
)
_DSN = re.compile(r"(\bu=[^,\s]+,p=)[^,\s]+")
_OBJECT = re.compile(r"((?:^|(?<=\s))secret,(?:[\w-]+=[^,\s]*,)*data=)[^,\s]+")
_USING = re.compile(rf"(?i)(\bconnect\s+to\b.{{0,200}}?\busing\s+){_VALUE}")
_CHANGED = re.compile(
    r"(?i)((?<![\w.-])(?=[\w.]{0,40}(?:set|change|add)[_-])[\w.-]{0,60}(?:password|user)\s+(?:(?!\d)\w+\s+)?)(?![\s-])"
    + _VALUE
    + r"(?=\s*$)"
)
_BEARER = re.compile(r"(?i)\b(bearer\s+)[^\s\"']{8,}")
_USERINFO = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,30}://)[^\s/?#\"']+@")  # RFC 3986, section 3.2.1
_NO_SCHEME = re.compile(r"(?<![\w/@:.+-])([\w.+-]+:)[^\s/@:\"']+(?=@(?!sha\d)[\w.-]+:\d)")
# tokens known by their beginning: GitHub, GitLab, AWS, Slack, Stripe and others, JSON web tokens, private keys
_KNOWN = re.compile(
    r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|(?:AKIA|ASIA)[0-9A-Z]{16}|xox[abprs]-[\w-]{10,}|"
    r"[sr]k_live_\w{10,}|sk-(?=[\w-]*\d)[\w-]{20,}=*|AIza[\w-]{35}|eyJ[\w-]{8,}\.eyJ[\w-]+\.[\w-]*|"
    r"AGE-SECRET-KEY-\S+|1//[\w-]{8,}|tskey-\S+|DHHC-1:\d\d:[^\s:]+)"
    r"|(?<!\w)\$[0-9][a-z]?\$[\w./=$]{6,}|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*-----|$)"
)


class SecretForm(NamedTuple):
    """`pattern` is replaced by `kept`, as `example` is by `masked_example`; what the pattern's groups hold is kept."""

    name: str
    pattern: re.Pattern[str]
    example: str
    masked_example: str
    kept: str = rf"\1{MASK}"


# In this order: a form may need the text as an earlier one has left it.
SECRET_FORMS = (
    SecretForm("token with a known beginning", _KNOWN, "push ghp_0123456789abcdefghijABCDEFGHIJ", "push ***", MASK),
    SecretForm("field of JSON", _JSON, """'{"password": "x"}'""", """'{"password": ***}'"""),
    SecretForm("field of JavaScript", _FIELD, "f({user: 'me', pwd: 'x'})", "f({user: 'me', pwd: ***})"),
    SecretForm("parameter of a URL", _QUERY, "https://h/a?sv=1&sig=x%3D&se=2", "https://h/a?sv=1&sig=***&se=2"),
    SecretForm("path of a webhook", _HOOK, "https://h/services/T0/B0/x", "https://h/services/T0/B0/***"),
    SecretForm("literal of SQL", _SQL, "create user a identified by 'x'", "create user a identified by ***"),
    SecretForm("connection of SQL", _USING, "connect to d user me using x", "connect to d user me using ***"),
    SecretForm("argument of a call", _CALL, "db.auth('me', 'x')", "db.auth('me', ***)"),
    SecretForm("answer that expect sends", _SENT, 'expect word: { send "x" }', 'expect word: { send *** }'),
    SecretForm("element of XML", _ELEMENT, "<a><password>x</password></a>", "<a><password>***</password></a>"),
    SecretForm("setting by its name", _SET, "aws configure set secret_key x", "aws configure set secret_key ***"),
    SecretForm("new password", _CHANGED, "rabbitmqctl change_password me x", "rabbitmqctl change_password me ***"),
    SecretForm("piped into a program that asks", _PIPED, "echo x | sudo -S ls", "echo *** | sudo -S ls"),
    SecretForm("here string", _HERE, "gpg -d a <<< x", "gpg -d a <<< ***"),
    SecretForm("echo for a program to read", _ECHOED, "wg set wg0 <(echo x)", "wg set wg0 <(echo ***)"),
    SecretForm("SQL without quotes", _UNQUOTED_SQL, "alter user a identified by x", "alter user a identified by ***"),
    SecretForm("user and secret of CIFS", _PERCENT, "mount -o user=me%x,ro", "mount -o user=me%***,ro"),
    SecretForm("user of a domain", _DOMAIN, "psexec.py D/me:x@h", "psexec.py D/me:***@h"),
    SecretForm("option with a slash", _SLASH, "xfreerdp /u:me /p:x", "xfreerdp /u:me /p:***"),
    SecretForm("key that is no path and no number", _KEY, "gem push --key 0a1b2c3d4e", "gem push --key ***"),
    SecretForm("parts of a data source", _DSN, "pt-online h=db,u=me,p=x,D=a", "pt-online h=db,u=me,p=***,D=a"),
    SecretForm("secret object of QEMU", _OBJECT, "-object secret,id=s,data=x", "-object secret,id=s,data=***"),
    SecretForm("user of a URL", _USERINFO, "ftp://me:p@ss@host/x", "ftp://***@host/x", rf"\1{MASK}@"),
    SecretForm("user of a host and port", _NO_SCHEME, "-x me:pw@proxy:3128", "-x me:***@proxy:3128"),
    SecretForm("assignment", _ASSIGNED, "PGPASSWORD=x psql", "PGPASSWORD=*** psql", rf"\1\2{MASK}"),
    SecretForm("assignment without a separator", _JOINED, "LDAP_BINDPW=x hosttoken=y", "LDAP_BINDPW=*** hosttoken=***"),
    SecretForm("option and its value", _FOLLOWS, "job --db-password x -v", "job --db-password *** -v"),
    SecretForm("option that ends so", _FOLLOWS_ENDING, "job --bindpass x -v", "job --bindpass *** -v"),
    SecretForm("user and secret", _PAIR_OPTION, "tool --logon me:hunter", "tool --logon me:***", rf"\1\2{MASK}"),
    SecretForm("user and strong secret", _PAIR, "tool me:Passw0rd", "tool me:***"),
    SecretForm("bearer", _BEARER, "bearer abcdefgh", "bearer ***"),
)  # fmt: skip
