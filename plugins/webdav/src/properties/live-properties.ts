import type { FileListEntry, RoomLeft } from '@nodekeep/plugin-sdk'
import { mediaTypeOf } from '@nodekeep/plugin-sdk/stored-content'
import { lockDiscovery, supportedLocks } from '../locks/lock-xml.ts'
import type { Lock } from '../locks/locks.ts'
import { davNamespace, escaped, nameIn } from '../xml.ts'
import type { PropertyQuery } from './property-request.ts'

/** A file or folder, with what its properties need. */
export interface Described {
  readonly entry: FileListEntry
  /** The locks of the path. */
  readonly locks: readonly Lock[]
  /** Null where no property needs it. */
  readonly room: RoomLeft | null
  /** Null where no property needs it, and where it is not known. */
  readonly sha256: string | null
}

/** Returns the content of a property; undefined if the entry has no such property. */
type ValueOf = (described: Described) => string | undefined

const dav = (name: string) => nameIn(davNamespace, name)

export const quotaUsed = dav('quota-used-bytes')
export const quotaAvailable = dav('quota-available-bytes')
export const entityTagProperty = dav('getetag')
export const created = dav('creationdate')
export const modified = dav('getlastmodified')
export const lockDiscoveryProperty = dav('lockdiscovery')
/** The checksums of ownCloud, as its clients and rclone ask for them. */
export const checksums = nameIn('http://owncloud.org/ns', 'checksums')
/** The time of modification in seconds since 1970, as rclone sets it. */
export const modifiedSeconds = dav('lastmodified')
/** The time of modification as Windows sets it. */
export const modifiedInWindows = nameIn('urn:schemas-microsoft-com:', 'Win32LastModifiedTime')

const files =
  (value: ValueOf): ValueOf =>
  (described) =>
    described.entry.type === 'file' ? value(described) : undefined

/** The properties of RFC 4918, section 15, which the element `allprop` means. */
const usual: Readonly<Record<string, ValueOf>> = {
  [created]: ({ entry }) => entry.created?.toISOString(),
  [dav('displayname')]: ({ entry }) => escaped(entry.path === '/' ? 'Nodekeep' : entry.name),
  [dav('getcontentlength')]: files(({ entry }) => String(entry.size)),
  [dav('getcontenttype')]: files(({ entry }) => escaped(mediaTypeOf(entry.name))),
  [entityTagProperty]: files(({ entry }) =>
    entry.revision === undefined ? undefined : escaped(`"${entry.revision}"`),
  ),
  [modified]: ({ entry }) => entry.modified.toUTCString(),
  [lockDiscoveryProperty]: ({ locks }) => lockDiscovery(locks),
  [dav('resourcetype')]: ({ entry }) => (entry.type === 'directory' ? '<D:collection/>' : ''),
  [dav('supportedlock')]: () => supportedLocks,
}

/** Properties that a client has to name. */
const special: Readonly<Record<string, ValueOf>> = {
  [quotaUsed]: ({ entry, room }) =>
    entry.type === 'directory' && room !== null ? String(room.taken) : undefined,
  [quotaAvailable]: ({ entry, room }) =>
    entry.type === 'directory' && room !== null && room.left !== null ? String(room.left) : undefined,
  [checksums]: ({ sha256 }) => (sha256 === null ? undefined : `<checksum>SHA256:${sha256}</checksum>`),
  [modifiedSeconds]: ({ entry }) => String(Math.floor(entry.modified.getTime() / 1000)),
  [modifiedInWindows]: ({ entry }) => entry.modified.toUTCString(),
}

/** The properties that the node computes ("live properties", RFC 4918, section 4.2), by their names. */
export const liveProperties: ReadonlyMap<string, ValueOf> = new Map(Object.entries({ ...usual, ...special }))

/** The names of the properties that a query is about, without those that clients have set. */
export function namesAskedBy(query: PropertyQuery): ReadonlySet<string> {
  if (query.kind === 'names') return new Set(liveProperties.keys())
  return new Set(query.kind === 'some' ? query.names : [...Object.keys(usual), ...query.names])
}
