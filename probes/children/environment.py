"""What the programs that we start must not inherit: a password for a management controller is for hostdx alone."""

import os

USER, PASSWORD = "HOSTDX_REDFISH_USER", "HOSTDX_REDFISH_PASSWORD"
STARTED_AS = "HOSTDX_STARTED_AS"  # the bundle's path: what was unpacked does not know it
_withheld: dict[str, str] = {}


def withhold_secret_variables() -> None:
    """At the start of the program. From then on workers, tools and the user's commands do not have it."""
    for name in (USER, PASSWORD, STARTED_AS):
        if (value := os.environ.pop(name, None)) is not None:
            _withheld[name] = value


def read_env_variable(name: str) -> str:
    """Its value, withheld or not; empty where there is none."""
    return _withheld.get(name) or os.environ.get(name, "")


def hostdx_environment() -> dict[str, str]:
    """The environment of another `hostdx` that we start: it may have to ask the controller itself."""
    return os.environ | _withheld
