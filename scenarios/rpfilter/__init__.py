"""What the firewall's reverse-path check costs: what is compared, what the cost means here, what to do about it."""
