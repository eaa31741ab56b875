"""sushy-tools' emulator with one system whose BIOS attributes come from a file: `python -m … FILE CERTIFICATE
HTPASSWD`.

Prints its port. OpenStack's emulator knows no vendor's names; its protocol (links, authentication, TLS) is what is
used.
"""

import json
import ssl
import sys
from pathlib import Path
from typing import Any

from sushy_tools.emulator import main as emulator
from sushy_tools.emulator.resources.systems.fakedriver import FakeDriver
from werkzeug.serving import make_server


class _Bios(FakeDriver):  # type: ignore[misc]
    answer: dict[str, Any] = {}

    def get_bios(self, identity: str) -> dict[str, Any]:
        return self._get(identity) and self.answer["Attributes"]  # type: ignore[no-any-return]


def main() -> None:
    answer, certificate, passwords, state = sys.argv[1:5]
    _Bios.answer = json.loads(Path(answer).read_text())
    emulator.fakedriver.FakeDriver = _Bios
    app = emulator.app
    app.configure(
        extra_config={
            "SUSHY_EMULATOR_FAKE_DRIVER": True,
            "SUSHY_EMULATOR_AUTH_FILE": passwords,
            "SUSHY_EMULATOR_STATE_DIR": state,
        }
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = make_server("127.0.0.1", 0, app, ssl_context=context)
    print(server.port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
