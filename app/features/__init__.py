"""Features: each owns its commands, screens and parts of reports. The core imports none of them."""
