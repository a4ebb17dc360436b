import { basename, dirname } from 'node:path'

/** Where a service finds what it needs, as absolute paths of the machine that it runs on. */
export interface ServicePlaces {
  /** The account that runs the node. */
  readonly user: string
  readonly config: string
  readonly data: string
  /** The folder for releases. */
  readonly releases: string
}

export const unitFile = '/etc/systemd/system/nodekeep.service'

/** The folder of the service outside of its data: the launcher, and the release that starts first. */
export const serviceFolder = '/usr/local/lib/nodekeep'

export const defaultService: Omit<ServicePlaces, 'releases'> = {
  user: 'nodekeep',
  config: '/etc/nodekeep/nodekeep.json',
  data: '/var/lib/nodekeep',
}

/**
 * Returns the unit of a node that is supervised.
 *
 * It names the folder for releases to the launcher, and by a variable to the node, so that no configuration file can name another one.
 * Paths have no white space, quotes, backslashes, "$" and "%", which have a meaning in units.
 * Source of the keys: systemd.unit(5), systemd.service(5) and systemd.exec(5).
 */
export function serviceUnit({ user, config, data, releases }: ServicePlaces): string {
  const folders = foldersToMake({ data, releases })
  const writable = folders.length === 0 ? '' : `ReadWritePaths=${folders.join(' ')}\n`
  return `[Unit]
Description=Nodekeep, a personal cloud node
Wants=network-online.target
After=network-online.target
# The supervisor starts a node again that dies. What ends the service may pass: a disk or an address that comes late.
StartLimitIntervalSec=0

[Service]
User=${user}
Environment=NODEKEEP_CONFIG=${config}
Environment=NODEKEEP_DATA=${data}
Environment=NODEKEEP_RELEASES__FOLDER=${releases}
Environment=XDG_CACHE_HOME=/var/cache/nodekeep
# Secrets such as OPENAI_API_KEY=…, one to a line. The file may be missing.
EnvironmentFile=-${dirname(config)}/environment
# The launcher is outside of the releases: it takes the former release when the newer one cannot start.
ExecStart=${serviceFolder}/nodekeep-service ${releases}
StateDirectory=${basename(defaultService.data)}
StateDirectoryMode=0700
CacheDirectory=nodekeep
${writable}WorkingDirectory=${data}
UMask=0077
Restart=on-failure
RestartSec=5
# A node that takes too much memory is killed alone: its supervisor counts that, and goes back.
OOMPolicy=continue
KillMode=mixed
TimeoutStopSec=60

CapabilityBoundingSet=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
ProtectProc=invisible
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
LockPersonality=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
SystemCallArchitectures=native
SystemCallFilter=@system-service @pkey
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`
}

/** Returns the folders that systemd does not make itself. */
export function foldersToMake({ data, releases }: Pick<ServicePlaces, 'data' | 'releases'>): string[] {
  const folders = isInside(releases, data) ? [data] : [data, releases]
  return folders.filter((path) => !isInside(path, defaultService.data))
}

/** Tells whether a path is a folder or something in it. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}
