"""Faults and traps of links, bonds, bridges, routes, names and firewalls (issue 50)."""

SOS = "sos_commands"
NET = f"{SOS}/networking"
ETHTOOL = f"{NET}/ethtool_"
DIR = "sys/class/net"
LSPCI = f"{SOS}/pci/lspci_-nnvv"
RESOLV = "etc/resolv.conf"
NSSWITCH = "etc/nsswitch.conf"
ROUTES = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
ARP = "IP address       HW type     Flags       HW address            Mask     Device\n"
UDP = (
    "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref "
    "pointer drops\n"
)
ADDRESSES = f"{NET}/ip_-d_address"
TABLES = f"{NET}/ip_route_show_table_all"
CHAIN = (
    "Chain INPUT (policy ACCEPT 0 packets, 0 bytes)\n pkts bytes target     prot opt in     out     source  "
    "             destination\n"
)
ZONE = (
    "public (active)\n  target: default\n  interfaces: eth0\n  sources: \n  services: ssh\n  ports: {}\n  "
    "protocols: \n"
)
PORT = "sys/class/infiniband/mlx5_0/ports/1"


def card(fec: str = "", errors: int = 0) -> dict[str, str]:
    text = f"FEC parameters for eth0:\nSupported/Configured FEC encodings: Auto Off RS\nActive FEC encoding: {fec}\n"
    return {f"{ETHTOOL}--show-fec_eth0": text, f"{DIR}/eth0/statistics/rx_crc_errors": str(errors)}


def modes(
    offered: str, negotiation: str = "on", port: str = "Twisted Pair", speed: str = "100"
) -> dict[str, str]:
    text = (
        "Settings for eth0:\n\tSupported ports: [ TP ]\n"
        "\tSupported link modes:   100baseT/Full\n\t                        1000baseT/Full\n"
        "\t                        10000baseT/Full\n\tSupported pause frame use: Symmetric\n"
        f"\tAdvertised link modes:  {offered}\n\tAdvertised pause frame use: Symmetric\n"
        f"\tSpeed: {speed}Mb/s\n\tDuplex: Full\n\tAuto-negotiation: {negotiation}\n\tPort: {port}\n\tLink "
        f"detected: yes\n"
    )
    return {f"{ETHTOOL}eth0": text, f"{DIR}/eth0/speed": speed}


def table_of_rings(entry: int) -> dict[str, str]:
    lines = (
        f"    0:      0     0     {entry}     0     0     0     0     0\n    8:      0     0     0     0    "
        f" 0     0     0     0\n"
    )
    head = "RX flow hash indirection table for eth0 with 8 RX ring(s):\n"
    return {f"{ETHTOOL}-x_eth0": f"{head}{lines}RSS hash key:\n6d:5a:56:da\n"}


def filters(action: str) -> dict[str, str]:
    text = (
        "8 RX rings available\nTotal 1 rules\n\nFilter: 2045\n\tRule Type: TCP over IPv4\n"
        "\tSrc IP addr: 0.0.0.0 mask: 255.255.255.255\n\tDest IP addr: 0.0.0.0 mask: 255.255.255.255\n"
        f"\tTOS: 0x0 mask: 0xff\n\tSrc port: 0 mask: 0xffff\n\tDest port: 2049 mask: 0x0\n\tAction: {action}\n"
    )
    return {f"{ETHTOOL}--show-ntuple_eth0": text}


def merging(forwards: int) -> dict[str, str]:
    return {
        f"{ETHTOOL}-k_eth0": "Features for eth0:\nrx-checksumming: on\ntcp-segmentation-offload: on\n"
        "generic-receive-offload: on\nlarge-receive-offload: on\n",
        "proc/sys/net/ipv4/ip_forward": str(forwards),
    }


def guest_card(queues: int) -> dict[str, str]:
    return {
        "sys/bus/pci/devices/0000:17:00.0/uevent": "DRIVER=virtio_net",
        f"{ETHTOOL}-l_eth0": f"Channel parameters:\nPre-set maximums:\nCombined:\t8\nCurrent hardware settin"
        f"gs:\nCombined:\t{queues}\n",
    }


def lldp(flag: str) -> dict[str, str]:
    return {
        f"{ETHTOOL}--show-priv-flags_eth0": f"Private flags for eth0:\nlink-down-on-close     : off\n"
        f"disable-fw-lldp        : {flag}\n",
        f"{SOS}/process/ps_auxwwwm": "root 811 0.0 0.0 1 1 ? Ss 00:00 0:00 /usr/sbin/lldpd\n",
    }


def unbound(driver: str) -> dict[str, str]:
    text = (
        "3b:00.0 Ethernet controller [0200]: Mellanox Technologies MT2892 Family [ConnectX-6 Dx] [15b3:101d]\n"
        "\tSubsystem: Mellanox Technologies Device [15b3:0016]\n\tControl: I/O- Mem+\n"
        f"{driver}\tKernel modules: mlx5_core\n\n"
        "00:1f.4 SMBus [0c05]: Intel Corporation Lewisburg SMBus [8086:a1a3]\n\tKernel modules: i2c_i801\n"
    )
    return {LSPCI: text}


def leg(
    name: str, state: int = 63, churn: str = "none", partner: str = "a8:d0:e5:bc:77:c0", group: int = 1
) -> str:
    return (
        f"Slave Interface: {name}\nMII Status: up\nSpeed: 25000 Mbps\nDuplex: full\nLink Failure Count: 0\n"
        f"Permanent HW addr: 00:25:90:06:59:8a\nSlave queue ID: 0\nAggregator ID: {group}\n"
        f"Actor Churn State: {churn}\nPartner Churn State: none\nActor Churned Count: 1\nPartner Churned Count: 0\n"
        "details actor lacp pdu:\n    system priority: 65535\n    system mac address: 00:25:90:06:59:8a\n"
        f"    port key: 15\n    port priority: 255\n    port number: 1\n    port state: {state}\n"
        f"details partner lacp pdu:\n    system priority: 127\n    system mac address: {partner}\n"
        "    oper key: 1\n    port priority: 127\n    port number: 1\n    port state: 63\n"
    )


def lacp(*legs: str) -> dict[str, str]:
    head = (
        "Ethernet Channel Bonding Driver: v6.12.9\n\nBonding Mode: IEEE 802.3ad Dynamic link aggregation\n"
        "Transmit Hash Policy: layer3+4 (1)\nMII Status: up\nMII Polling Interval (ms): 100\n\n802.3ad info\n"
        "Active Aggregator Info:\n\tAggregator ID: 1\n\tNumber of ports: 2\n\tPartner Mac Address: "
        "a8:d0:e5:bc:77:c0\n\n"
    )
    return {"proc/net/bonding/bond0": head + "\n".join(legs)}


def simple_bond(mode: str, *more: str) -> dict[str, str]:
    ports = "".join(
        f"\nSlave Interface: {name}\nMII Status: up\nSpeed: 25000 Mbps\n" for name in more or ("eth0", "eth1")
    )
    head = f"Bonding Mode: {mode}\nMII Status: up\nMII Polling Interval (ms): 100\n"
    return {"proc/net/bonding/bond0": f"{head}{ports}"}


def reordered(count: int) -> dict[str, str]:
    counts = f"TcpExt: TCPMemoryPressures TCPSACKReorder\nTcpExt: 0 {count}\n"
    return simple_bond("load balancing (round-robin)", "ens9f0", "ens9f1") | {"proc/net/netstat": counts}


def route(name: str, network: str, gateway: str, mask: str, mtu: int = 0) -> str:
    flags = "0003" if gateway != "00000000" else "0001"
    return f"{name}\t{network}\t{gateway}\t{flags}\t0\t0\t100\t{mask}\t{mtu}\t0\t0\n"


OWN = route("eth0", "0000010A", "00000000", "00FFFFFF")
DEFAULT = route("eth0", "00000000", "0100000A", "00000000")


def bridge(**settings: str) -> dict[str, str]:
    return {f"{DIR}/br7/bridge/{name}": text for name, text in settings.items()}


def ports(*names: str) -> dict[str, str]:
    return {f"{DIR}/br7/brif/{name}/state": "3" for name in names}


def vlans(uplink: str) -> dict[str, str]:
    text = (
        f"port              vlan-id\nens1f0            1 PVID Egress Untagged\n                  {uplink}\n"
        "vnet3             200 PVID Egress Untagged\nbr0               1 PVID Egress Untagged\n"
    )
    return {f"{NET}/bridge_-d_vlan_show": text}


def filtered(on: int) -> dict[str, str]:
    return {"proc/sys/net/bridge/bridge-nf-call-iptables": str(on), f"{DIR}/vnet3/ifindex": "44"}


def cluster(querier: int) -> dict[str, str]:
    settings = bridge(multicast_snooping="1", multicast_querier=str(querier))
    return settings | {
        "etc/corosync/corosync.conf": "totem {\n\tinterface {\n\t\tmcastaddr: 239.255.1.1\n\t}\n}\n"
    }


def overlay(mtu: int) -> dict[str, str]:
    text = (
        "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT group default qlen 1000\n"
        "    link/ether 00:25:90:06:59:8a brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 68 maxmtu 9978\n"
        f"9: vxlan100: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu {mtu} qdisc noqueue state UNKNOWN mode DEFAULT "
        f"group default\n"
        "    link/ether 02:00:00:00:00:07 brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 68 maxmtu 65535\n"
        "    vxlan id 100 group 239.1.1.1 dev eth0 srcport 0 0 dstport 4789 ttl auto ageing 300 udpcsum\n"
    )
    return {f"{NET}/ip_-s_-d_link": text}


VLANS = "VLAN Dev name    | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n"


def profile(name: str, more: str = "ONBOOT=yes\n") -> dict[str, str]:
    return {f"etc/sysconfig/network-scripts/ifcfg-{name}": f"TYPE=Ethernet\nDEVICE={name}\n{more}"}


def hardware_address(own: str) -> dict[str, str]:
    return profile("eth0", "HWADDR=00:25:90:06:59:8A\nONBOOT=yes\n") | {f"{DIR}/eth0/address": own}


def manual(active: str) -> dict[str, str]:
    keyfile = (
        f"[connection]\nid=storage\nuuid={'0' * 7}a\ntype=ethernet\ninterface-name=eth1\nautoconnect=false\n"
    )
    return {
        "etc/NetworkManager/system-connections/storage.nmconnection": keyfile,
        "run/NetworkManager/devices/3": f"[device]\nmanaged=true\nconnection-uuid={active}\n",
    }


def policed(dropped: int) -> dict[str, str]:
    text = (
        "filter parent ffff: protocol ip pref 49152 u32 chain 0\n\taction order 1:  police 0x1 rate 1Gbit burst "
        "125Kb mtu 2Kb action drop overhead 0b\n"
        f"\tref 1 bind 1 installed 9 sec used 1 sec\n\tAction statistics:\n\tSent 1 bytes 2 pkt (dropped "
        f"{dropped}, overlimits 9 requeues 0)\n"
    )
    return {f"{NET}/tc_-s_filter_show_dev_eth0_ingress": text}


def gateway(flags: str) -> dict[str, str]:
    address = "00:00:00:00:00:00" if flags == "0x0" else "00:00:5e:00:01:01"
    entry = f"10.0.0.1         0x1         {flags}         {address}     *        eth0\n"
    return {"proc/net/route": ROUTES + DEFAULT, "proc/net/arp": ARP + entry}


def single_route(direct: str) -> dict[str, str]:
    text = (
        f"default via 10.0.0.1 dev eth1 proto static metric 100\n10.9.0.20 via 10.0.0.1 dev eth1 proto "
        f"static\n{direct}"
    )
    mounts = "filer:/data /data nfs4 rw,relatime,vers=4.2,proto=tcp,clientaddr=10.9.0.7,addr=10.9.0.20 0 0\n"
    return {TABLES: text, "proc/mounts": mounts}


def rules(table: str) -> dict[str, str]:
    listed = (
        "0:\tfrom all lookup local\n32765:\tfrom 10.2.2.7 lookup 200\n32766:\tfrom all lookup main\n"
        "32767:\tfrom all lookup default\n"
    )
    return {f"{NET}/ip_-4_rule_list": listed, TABLES: f"default via 10.0.0.1 dev eth0\n{table}"}


def ipv6(flags: str) -> dict[str, str]:
    return {"proc/net/if_inet6": f"fd00000000000000000200020000fe02 02 40 00 {flags}     eth0\n"}


def advertised(accepts: int, default: str = "") -> dict[str, str]:
    return ipv6("00") | {
        "proc/sys/net/ipv6/conf/all/forwarding": "1",
        "proc/sys/net/ipv6/conf/eth0/accept_ra": str(accepts),
        "proc/net/ipv6_route": default,
    }


def resolver(sockets: str) -> dict[str, str]:
    return {RESOLV: "nameserver 127.0.0.53\n", "proc/net/udp": UDP + sockets}


def own_name(address: str) -> dict[str, str]:
    return {
        "etc/hostname": "ce01.example.org\n",
        "etc/hosts": f"127.0.0.1 localhost\n{address} ce01.example.org ce01\n",
        "etc/condor/condor_config": "# nothing\n",
    }


def pinned(address: str) -> dict[str, str]:
    mounts = "nfs01:/data /data nfs4 rw,relatime,vers=4.2,addr=10.9.0.20 0 0\n"
    return {"etc/hosts": f"127.0.0.1 localhost\n{address} nfs01\n", "proc/mounts": mounts}


def socket_of(port: str, dropped: int) -> dict[str, str]:
    line = (
        f"  514: 00000000:{port} 00000000:0000 07 00000000:00034280 00:00000000 00000000     0        0 4711 "
        f"2 0000000000000000 {dropped}\n"
    )
    return {"proc/net/udp": UDP + line}


def waiting(count: int) -> dict[str, str]:
    return {
        "proc/net/sockstat": f"sockets: used 900\nTCP: inuse 12 orphan 0 tw {count} alloc 20 mem 3\n",
        "proc/sys/net/ipv4/tcp_max_tw_buckets": "8192",
        "proc/sys/net/ipv4/ip_local_port_range": "10240\t60999",
    }


def listening(reserved: str) -> dict[str, str]:
    return {
        f"{NET}/netstat_-W_-neopa": "tcp  0  0 0.0.0.0:50010  0.0.0.0:*  LISTEN  991  33  3120/java\n",
        "proc/sys/net/ipv4/ip_local_port_range": "32768\t60999",
        "proc/sys/net/ipv4/ip_local_reserved_ports": reserved,
    }


def entered(failed: str) -> dict[str, str]:
    return {
        "proc/net/stat/nf_conntrack": f"entries insert_failed drop early_drop\n0a {failed} 0 0\n0a 1 0 0\n"
    }


def address_set(entries: int) -> dict[str, str]:
    text = (
        "Name: allow\nType: hash:ip\nRevision: 5\nHeader: family inet hashsize 1024 maxelem 65536 bucketsize 12\n"
        f"Size in memory: 3144\nReferences: 1\nNumber of entries: {entries}\nMembers:\n"
    )
    return {f"{SOS}/firewall_tables/ipset_list": text}


def both_firewalls(legacy: str) -> dict[str, str]:
    nft = (
        "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority 0; policy drop;\n\t\ttcp "
        "dport 22 accept\n\t}\n}\n"
    )
    return {"proc/net/ip_tables_names": legacy, f"{SOS}/firewall_tables/nft_-a_list_ruleset": nft}


def shadowed(port: int) -> dict[str, str]:
    text = (
        f"{CHAIN}  12M  900G ACCEPT     all  --  *      *       0.0.0.0/0            0.0.0.0/0            "
        f"ctstate RELATED,ESTABLISHED\n"
        "88123   12M REJECT     all  --  *      *       0.0.0.0/0            0.0.0.0/0            reject-with "
        "icmp-host-prohibited\n"
        "    0     0 ACCEPT     tcp  --  *      *       0.0.0.0/0            0.0.0.0/0            tcp dpt:1094\n"
    )
    line = (
        f"tcp        0      0 0.0.0.0:{port}            0.0.0.0:*               LISTEN      991        33    "
        f"     3120/xrootd         off (0.00/0/0)\n"
    )
    return {f"{SOS}/firewall_tables/iptables_-t_filter_-nvL": text, f"{NET}/netstat_-W_-neopa": line}


def zone(permanent: str) -> dict[str, str]:
    head = f"{SOS}/firewalld/firewall-cmd_"
    return {
        f"{head}--list-all-zones": ZONE.format("2811/tcp 50000-51000/tcp"),
        f"{head}--permanent_--list-all-zones": ZONE.replace(" (active)", "").format(permanent),
    }


def transfers(high: int) -> dict[str, str]:
    return {
        "etc/gridftp.conf": "port 2811\nport_range 50000,51000\n",
        "etc/firewalld/zones/public.xml": f'<?xml version="1.0"?>\n<zone>\n  <port port="50000-{high}" '
        f'protocol="tcp"/>\n</zone>\n',
        f"{SOS}/systemd/systemctl_list-units": "  firewalld.service loaded active running x\n",
    }


def icmp(verdict: str) -> dict[str, str]:
    rule = f"icmp type destination-unreachable counter packets 8123 bytes 900 {verdict}"
    text = f"table inet filter {{\n\tchain input {{\n\t\t{rule}\n\t}}\n}}\n"
    return {
        f"{SOS}/firewall_tables/nft_-a_list_ruleset": text,
        f"{DIR}/eth1/mtu": "9000",
        "proc/sys/net/ipv4/tcp_mtu_probing": "0",
    }


def logged(limit: str) -> dict[str, str]:
    line = (
        f"8123M  900G LOG        all  --  *      *       0.0.0.0/0            0.0.0.0/0            {limit}LOG"
        f' flags 0 level 4 prefix "IN-DROP "\n'
    )
    return {f"{SOS}/firewall_tables/iptables_-t_filter_-nvL": CHAIN + line}


def translated(source: str) -> dict[str, str]:
    line = f"  12M  900M MASQUERADE  all  --  *      *       {source}            0.0.0.0/0\n"
    return {f"{SOS}/firewall_tables/iptables_-t_nat_-nvL": CHAIN.replace("INPUT", "POSTROUTING") + line}


def second_address(stored: str) -> dict[str, str]:
    text = (
        "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default qlen 1000\n"
        "    link/ether 00:25:90:06:59:8a brd ff:ff:ff:ff:ff:ff promiscuity 0\n"
        "    inet 10.10.4.7/24 brd 10.10.4.255 scope global eth0\n       valid_lft forever preferred_lft forever\n"
        "    inet 10.10.4.77/24 scope global secondary eth0\n       valid_lft forever preferred_lft forever\n"
    )
    return {ADDRESSES: text} | profile("eth0", f"IPADDR=10.10.4.7\n{stored}")


GUESTS = ports("vnet0", "eth1")


def written(program: str, *messages: str) -> dict[str, str]:
    return {"var/log/messages": "".join(f"Nov 29 02:11:12 srv {program}[809]: {text}\n" for text in messages)}


CONFLICT = (
    "<warn>  device (eth0): IP address 10.0.0.2 cannot be configured because it is already in use in the network "
    "by host 08:00:27:09:58:BA"
)
DEGRADED = "Using degraded feature set TCP instead of UDP for DNS server 10.240.0.2."
RESUMED = "Grace period over, resuming full feature set (UDP+EDNS0) for DNS server 10.240.0.2."
PLANTED: list[tuple[str, str, dict[str, str]]] = [
    ("net.address-conflict", "warning", written("NetworkManager", CONFLICT)),
    ("host.resolver-degraded", "notice", written("systemd-resolved", DEGRADED)),
    ("net.counter", "warning", {f"{ETHTOOL}-S_eth0": "NIC statistics:\n     tx_pause_storm_error_events: 37\n"}),
    ("net.counter", "notice", {f"{PORT}/counters/VL15_dropped": "8123", f"{PORT}/state": "4: ACTIVE"}),
    ("net.counter", "notice", {"proc/net/netstat": "TcpExt: TCPMemoryPressures TCPBacklogDrop\nTcpExt: 0 8823\n"}),
    ("net.fec-off", "warning", card("Off", 9000)),
    ("net.fec-lost", "warning", {f"{ETHTOOL}-I_--show-fec_eth0": "FEC parameters for eth0:\nActive FEC encoding: RS\n"
                                 "Statistics:\n  corrected_blocks: 918273645\n  uncorrectable_blocks: 4120000\n"}),
    ("net.advertised", "warning", modes("100baseT/Full")),
    ("net.autoneg-off", "warning", modes("Not reported", "off") | {f"{DIR}/eth0/statistics/rx_crc_errors": "900"}),
    ("net.rss-table", "warning", table_of_rings(0)),
    ("net.hardware-filter", "notice", filters("Drop")),
    ("net.lro-forwarding", "notice", merging(1)),
    ("net.virtio-queues", "notice", guest_card(1)),
    ("net.virtio-queues", "warning", guest_card(1) | {f"{ETHTOOL}-S_eth0": "NIC statistics:\n     "
                                                                           "rx_queue_0_drops: 16669\n"}),
    ("net.lldp-in-firmware", "notice", lldp("off")),
    ("net.unbound", "warning", unbound("")),
    ("net.bond-rings", "notice", simple_bond("IEEE 802.3ad Dynamic link aggregation")
     | {f"{ETHTOOL}-g_eth1": "Pre-set maximums:\nRX:\t8192\nCurrent hardware settings:\nRX:\t256\n"}),
    ("net.bond-churned", "warning", lacp(leg("eth0"), leg("eth1", 69, "churned", "00:00:00:00:00:00", 2))),
    ("net.bond-partners", "notice", lacp(leg("eth0"), leg("eth1", partner="a8:d0:e5:bc:70:00", group=2))),
    ("net.bond-round-robin", "warning", reordered(4000000)),
    ("net.bond-rewrites", "warning", simple_bond("adaptive load balancing") | {f"{DIR}/bond0/brport/state": "3"}),
    ("net.address-on-port", "warning", {"proc/net/route": ROUTES + OWN, f"{DIR}/eth0/brport/state": "3"}),
    ("net.bridge-ageing", "notice", bridge(ageing_time="0") | ports("a1", "a2", "a3")),
    ("net.bridge-blocked", "notice", {f"{DIR}/eth1/brport/state": "4"}),
    ("net.bridge-delay", "notice", bridge(stp_state="1", forward_delay="1500") | ports("vnet0", "eth1")),
    ("net.bridge-vlan", "warning", vlans("100")),
    ("net.bridge-filter", "notice", filtered(1)),
    ("net.bridge-querier", "notice", cluster(0)),
    ("net.overlay-mtu", "notice", overlay(1500)),
    ("net.vlan-tag", "warning", {"proc/net/vlan/config": f"{VLANS}eth0.100        | 110  | eth0\n"}),
    ("net.parent-down", "warning", {"proc/net/vlan/config": f"{VLANS}eth0.100        | 100  | eth0\n",
                                    f"{DIR}/eth0.100/operstate": "lowerlayerdown"}),
    ("net.profile-missing-card", "notice", profile("ens3f1")),
    ("net.profile-address", "notice", hardware_address("ac:1f:6b:00:00:01")),
    ("net.profile-manual", "notice", manual("0000000a")),
    ("net.ingress-police", "warning", policed(812331)),
    ("net.gateway-silent", "warning", gateway("0x0")),
    ("net.gateway-silent", "warning", {"proc/net/route": ROUTES + DEFAULT, f"{NET}/ip_-s_-s_neigh_show":
                                       "10.0.0.1 dev eth0 used 12/1902/9 probes 6 FAILED\n"}),
    ("net.route-without-link", "warning", {"proc/net/route": ROUTES + DEFAULT, f"{DIR}/eth0/carrier": "0",
                                                    "proc/sys/net/ipv4/conf/all/ignore_routes_with_linkdown": "0"}),
    ("net.route-to-server", "warning", single_route("10.9.0.0/24 dev eth0 proto kernel scope link src 10.9.0.7\n")),
    ("net.route-limits", "warning", {"proc/net/route": ROUTES + route("eth0", "0" * 8, "0100000A", "0" * 8, 576)}),
    ("net.route-rejected", "warning", {TABLES: "blackhole 10.20.0.0/16 proto static\n",
                                       "etc/fstab": "/dev/sda1 / xfs defaults 0 0\n10.20.4.9:/data /data nfs "
                                                    "defaults 0 0\n"}),
    ("net.rule-without-routes", "notice", rules("")),
    ("net.neighbour-fixed", "notice", {"proc/net/arp": ARP + "10.0.0.20        0x1         0x6         "
                                                             "00:25:90:aa:bb:cc     *        eth0\n"}),
    ("net.ipv6-duplicate", "warning", ipv6("c8")),
    ("net.ipv6-advertisements", "warning", advertised(1)),
    ("host.resolv-servers", "notice", {RESOLV: "".join(f"nameserver 10.0.{n}.1\n" for n in range(4))}),
    ("host.resolv-listener", "warning", resolver("")),
    ("host.resolv-search", "notice", {RESOLV: "nameserver 10.0.0.1\nsearch a.example b.example c.example\noption"
                                              "s ndots:5\n"}),
    ("host.names-order", "notice", {NSSWITCH: "passwd: files\nhosts: dns files\n"}),
    ("host.name-is-loopback", "notice", own_name("127.0.1.1")),
    ("host.hosts-stale", "notice", pinned("10.0.0.20")),
    ("host.hosts-twice", "notice", {"etc/hosts": "10.1.1.5 node5\n10.1.1.6 node6\n10.1.1.15 node5\n"}),
    ("udp.socket", "notice", socket_of("0202", 98123)),
    ("tcp.time-wait", "warning", waiting(8192)),
    ("tcp.recycle", "warning", {"proc/sys/net/ipv4/tcp_tw_recycle": "1"}),
    ("tcp.port-taken", "notice", listening("")),
    ("net.conntrack-insert", "warning", entered("0003a1f2")),
    ("net.set-full", "notice", address_set(65536)),
    ("net.rules-mixed", "notice", both_firewalls("filter\nnat\n")),
    ("net.rule-shadowed", "warning", shadowed(1094)),
    ("net.firewalld-runtime", "notice", zone("2811/tcp")),
    ("net.firewall-range", "warning", transfers(50500)),
    ("net.firewall-icmp", "warning", icmp("drop")),
    ("net.firewall-logs", "notice", logged("")),
    ("net.masquerade-all", "notice", translated("0.0.0.0/0")),
    ("net.address-unsaved", "notice", second_address("")),
]  # fmt: skip
TRAPS: list[tuple[str, dict[str, str]]] = [
    ("net.address-conflict", written("NetworkManager", CONFLICT) | {f"{DIR}/eth1/address": "08:00:27:09:58:ba"}),
    ("host.resolver-degraded", written("systemd-resolved", DEGRADED, RESUMED)),
    ("net.counter", {f"{ETHTOOL}-S_eth0": "NIC statistics:\n     outbound_pci_stalled_wr: 0\n     outboun"
                                          "d_pci_stalled_wr_events: 9124\n"}),
    ("net.fec-off", card("Off", 0)),
    ("net.fec-lost", {f"{ETHTOOL}-I_--show-fec_eth0": "Active FEC encoding: RS\nStatistics:\n  corrected_blocks:"
                                                      " 91827364\n  uncorrectable_blocks: 412\n"}),
    ("net.rss-table", table_of_rings(3)),
    ("net.hardware-filter", filters("Direct to queue 3")),
    ("net.lro-forwarding", merging(0)),
    ("net.virtio-queues", guest_card(8)),
    ("net.lldp-in-firmware", lldp("on")),
    ("net.unbound", unbound("\tKernel driver in use: mlx5_core\n")),
    ("net.bond-churned", lacp(leg("eth0"), leg("eth1", 61))),
    ("net.bond-partners", lacp(leg("eth0"), leg("eth1"))),
    ("net.bond-round-robin", reordered(12)),
    ("net.bond-one-card", simple_bond("IEEE 802.3ad Dynamic link aggregation")),  # this host has no other card
    ("net.address-on-port", {"proc/net/route": ROUTES + OWN}),
    ("net.bridge-ageing", bridge(ageing_time="0") | ports("a1", "a2")),
    ("net.bridge-blocked", {f"{DIR}/eth1/brport/state": "3"}),
    ("net.bridge-delay", bridge(stp_state="0", forward_delay="1500") | GUESTS),
    ("net.bridge-vlan", vlans("200")),
    ("net.bridge-filter", filtered(0)),
    ("net.bridge-querier", cluster(1)),
    ("net.overlay-mtu", overlay(1450)),
    ("net.vlan-tag", {"proc/net/vlan/config": f"{VLANS}eth0.100        | 100  | eth0\nstorage         | 110  | "
                                              f"eth0\n"}),
    ("net.profile-missing-card", profile("eth1")),
    ("net.profile-address", hardware_address("00:25:90:06:59:8a")),
    ("net.profile-manual", manual("0000000b")),
    ("net.ingress-police", policed(3)),
    ("net.gateway-silent", gateway("0x2")),
    ("net.route-without-link", {"proc/net/route": ROUTES + DEFAULT}),
    ("net.route-to-server", single_route("")),
    ("net.route-limits", {"proc/net/route": ROUTES + DEFAULT}),
    ("net.route-rejected", {TABLES: "blackhole 10.42.3.0/24 proto bird\n", "etc/fstab": "10.42.3.9:/data /data n"
                                                                                        "fs noauto 0 0\n"}),
    ("net.rule-without-routes", rules("default via 10.2.2.1 dev eth1 table 200\n")),
    ("net.neighbour-fixed", {"proc/net/arp": ARP + "10.0.0.20        0x1         0x6         00:25:90:aa:bb:cc  "
                                                   "   *        vxlan7\n"}),
    ("net.ipv6-duplicate", ipv6("80")),
    ("net.ipv6-advertisements", advertised(2)),
    ("host.resolv-servers", {RESOLV: "nameserver 10.0.0.1\nnameserver 10.0.0.2\nnameserver 10.0.0.3\n"}),
    ("host.resolv-listener", resolver("  22: 3500007F:0035 00000000:0000 07 00000000:00000000 00:00000000 "
                                      "00000000   101        0 9 2 0 0\n")),
    ("host.names-order", {NSSWITCH: "hosts: files mdns4_minimal [NOTFOUND=return] dns\n"}),
    ("host.name-is-loopback", own_name("10.1.1.5")),
    ("host.hosts-stale", pinned("10.9.0.20")),
    ("host.hosts-twice", {"etc/hosts": "10.1.1.5 node5\n10.1.1.6 node6\n::1 node5\n"}),
    ("udp.socket", socket_of("14E9", 98123)),
    ("tcp.time-wait", waiting(3000)),
    ("tcp.recycle", {"proc/sys/net/ipv4/tcp_tw_recycle": "0"}),
    ("tcp.port-taken", listening("50010")),
    ("net.conntrack-insert", entered("0000000c")),
    ("net.set-full", address_set(812)),
    ("net.rules-mixed", both_firewalls("")),
    ("net.rule-shadowed", shadowed(9)),
    ("net.firewalld-runtime", zone("2811/tcp 50000-51000/tcp")),
    ("net.firewall-range", transfers(51000)),
    ("net.firewall-icmp", icmp("accept")),
    ("net.firewall-logs", logged("limit: avg 5/min burst 5 ")),
    ("net.masquerade-all", translated("172.17.0.0/16")),
    ("net.address-unsaved", second_address("IPADDR1=10.10.4.77\n")),
    ("net.bridge-vlan", vlans("2-4094")),
    ("net.unbound", {LSPCI: unbound("")[LSPCI].replace("MT2892 Family", "MT28800 Family Virtual Function")}),
    ("host.resolv-listener", resolver("") | {RESOLV: "nameserver 127.0.0.11\n"}),
    ("net.route-rejected", {TABLES: "10.20.4.0/24 via 10.0.0.1 dev eth0\nblackhole 10.20.0.0/16 proto static\n",
                            "etc/fstab": "10.20.4.9:/data /data nfs noauto 0 0\n"}),
]  # fmt: skip
