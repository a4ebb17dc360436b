import { basename } from 'node:path/posix'
import { type ArchiveEntry, ArchiveError, type ReadableEntry } from '@nodekeep/plugin-sdk/archive'
import type { BackupHeader } from './backup-header.ts'

/** A path of users, and what is there. It hides what a shorter one has there. */
export interface UserMount {
  /** `''` for the root, otherwise without a slash at the end. */
  readonly point: string
  /** The path of the archive that has the files; `null` if they do not count. */
  readonly archived: string | null
}

/** The paths at which each user of a backup sees their files. */
export function userMounts({ mounts = {} }: Pick<BackupHeader, 'mounts'>): UserMount[] {
  return Object.entries(mounts).map(([path, archived]) => ({ point: path === '/' ? '' : path, archived }))
}

/** A file or a folder of a user: `path` is as the user sees it. */
interface UserPath {
  readonly uuid: string
  readonly path: string
  readonly mount: UserMount
}

/** Returns the user, and the path that the user sees, of a path of an archive. Null for everything else, and for what a mount hides. */
export function userPathOf(path: string, mounts: readonly UserMount[]): UserPath | null {
  const mount = mounts.find(({ archived }) => archived !== null && path.startsWith(`${archived}/`))
  if (mount === undefined) return null
  const within = path.slice((mount.archived ?? '').length + 1)
  const slash = within.indexOf('/')
  // The trash and former versions are not files that a user sees.
  if (slash < 0 || within.startsWith('kept/')) return null
  const seen = mount.point + within.slice(slash)
  const isHidden = mounts.some(
    ({ point }) => point.length > mount.point.length && `${seen}/`.startsWith(`${point}/`),
  )
  return isHidden ? null : { uuid: within.slice(0, slash), path: seen, mount }
}

/** An order for the files of users in a backup. */
export type UserFilesOrder =
  | {
      readonly kind: 'find'
      /** A part of a name, or with a slash of a path. The case does not matter. */
      readonly text: string
    }
  | {
      readonly kind: 'extract'
      /** A username, a uuid or a wallet; `null` for the owner. */
      readonly user: string | null
      /** As the user sees it. */
      readonly path: string
      /** Bytes that the files may have together. */
      readonly maxBytes: number
    }

/** A file or a folder of a user in a backup. */
interface FoundUserFile {
  readonly userUuid: string
  readonly username: string
  readonly path: string
  readonly type: 'file' | 'directory'
  /** Bytes; 0 for a folder. */
  readonly size: number
  readonly modified: Date
}

/** The file or the folder that was unpacked. It lies in the folder under `name`. */
export interface ExtractedUserFile {
  readonly userUuid: string
  readonly username: string
  readonly name: string
  readonly type: 'file' | 'directory'
  /** Files, in a folder at any depth. */
  readonly files: number
  readonly bytes: number
}

/** The result of an order. */
export interface UserFilesResult {
  /** The first ones that were found, at most {@link maxFound}. */
  readonly found: readonly FoundUserFile[]
  /** How many were found. */
  readonly count: number
  readonly extracted: ExtractedUserFile | null
}

/** Files and folders that a person looks through. */
export const maxFound = 200

const usersPath = 'state/users.json'

/** Bytes of the list of users. Each has some 150. */
const maxUsersBytes = 64 * 1024 * 1024

interface BackupUser {
  readonly username: string
  readonly wallet: string
  readonly owner: boolean
}

/**
 * Returns the uuid of a user. The entries are read only until the list of users, with which archives of this version begin.
 *
 * @param user a username, a uuid or a wallet; `null` for the owner
 * @throws ArchiveError that names the users if the user is unknown
 */
export async function userUuidIn(
  entries: AsyncIterable<ReadableEntry>,
  user: string | null,
): Promise<string> {
  for await (const { path, content, size } of entries) {
    if (path !== usersPath) continue
    const users = [...(await readUsers(content, size))]
    const same = (text: string) => text.toLowerCase() === user?.toLowerCase()
    const found = users.find(([uuid, { username, wallet, owner }]) =>
      user === null ? owner : [uuid, username, wallet].some(same),
    )
    if (found !== undefined) return found[0]
    const names = users.map(([, { username }]) => username)
    const some = names.slice(0, 20).join(', ') + (names.length > 20 ? ', …' : '')
    const who = user === null ? 'no owner' : `no user ${JSON.stringify(user)}`
    throw new ArchiveError(`has ${who}. Its users are: ${some || 'none'}`, 'NOT_FOUND')
  }
  throw new ArchiveError(`has no ${usersPath}`)
}

/** Carries an order out while the entries of a backup pass by. */
export class UserFiles {
  readonly #order: UserFilesOrder
  readonly #mounts: readonly UserMount[]
  #users: ReadonlyMap<string, BackupUser> = new Map()
  readonly #found: Omit<FoundUserFile, 'username'>[] = []
  #count = 0
  #extracted: Omit<ExtractedUserFile, 'username'> | null = null

  /**
   * @param order that names a user by the uuid
   * @throws ArchiveError for a backup that does not tell where users see their files
   */
  constructor(order: UserFilesOrder, { mounts }: Pick<BackupHeader, 'mounts'>) {
    if (mounts === undefined)
      throw new ArchiveError('does not say at which paths users saw their files. Unpack it with tar')
    this.#order = order.kind === 'find' ? { ...order, text: plain(order.text) } : order
    this.#mounts = userMounts({ mounts })
  }

  /** @throws ArchiveError if nothing is at the path to extract */
  result(): UserFilesResult {
    const order = this.#order
    const named = <T extends { readonly userUuid: string }>(one: T) => {
      return { ...one, username: this.#users.get(one.userUuid)?.username ?? one.userUuid }
    }
    const extracted = this.#extracted && named(this.#extracted)
    if (order.kind === 'extract' && extracted === null) {
      const { username } = named({ userUuid: order.user ?? '' })
      throw new ArchiveError(`has no ${JSON.stringify(order.path)} of ${username}`, 'NOT_FOUND')
    }
    return { found: this.#found.map(named), count: this.#count, extracted }
  }

  /** Returns an entry whose content this sees, too. */
  watch(entry: ReadableEntry): ReadableEntry {
    return entry.path === usersPath ? { ...entry, content: this.#readUsers(entry) } : entry
  }

  /** Returns where an entry is unpacked, relative to the folder; `null` if it is not. */
  placeOf(entry: ArchiveEntry): string | null {
    const seen = userPathOf(entry.path, this.#mounts)
    if (seen === null) return null
    const order = this.#order
    if (order.kind === 'extract') return this.#extract(order, seen, entry)
    const where = order.text.includes('/') ? seen.path : basename(seen.path)
    if (!plain(where).includes(order.text)) return null
    this.#count += 1
    const { type, size, modified } = entry
    if (this.#found.length < maxFound)
      this.#found.push({ userUuid: seen.uuid, path: seen.path, type, size, modified })
    return null
  }

  #extract(
    { user, path, maxBytes }: Extract<UserFilesOrder, { kind: 'extract' }>,
    seen: UserPath,
    { type, size }: ArchiveEntry,
  ): string | null {
    const wanted = path === '/' ? '' : path
    const isWanted = seen.path === wanted || seen.path.startsWith(`${wanted}/`)
    if (seen.uuid !== user || !isWanted) return null
    const { files, bytes } = this.#extracted ?? { files: 0, bytes: 0 }
    const name = wanted === '' ? user : basename(wanted)
    this.#extracted = {
      userUuid: user,
      name,
      type: seen.path === wanted ? type : 'directory',
      files: files + (type === 'file' ? 1 : 0),
      bytes: bytes + size,
    }
    if (this.#extracted.bytes > maxBytes)
      throw new ArchiveError('has more at this path than there is room for', 'PAYLOAD_TOO_LARGE')
    return name + seen.path.slice(wanted.length)
  }

  async *#readUsers({ content, size }: ReadableEntry): AsyncGenerator<Uint8Array> {
    const chunks: Uint8Array[] = []
    for await (const chunk of content) {
      chunks.push(Uint8Array.from(chunk))
      yield chunk
    }
    this.#users = await readUsers(chunks, size)
  }
}

/** The users by their uuids. */
async function readUsers(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  size: number,
): Promise<ReadonlyMap<string, BackupUser>> {
  if (size > maxUsersBytes) throw new ArchiveError(`has a ${usersPath} that is too large`)
  const text = Buffer.concat(await Array.fromAsync(content, (chunk) => Uint8Array.from(chunk))).toString()
  try {
    const users = Object.entries(JSON.parse(text) as Record<string, BackupUser>)
    const isWhole = users.every(
      ([, one]) => typeof one.username === 'string' && typeof one.wallet === 'string',
    )
    if (isWhole) return new Map(users)
  } catch {}
  throw new ArchiveError(`has a ${usersPath} that cannot be read`)
}

/** As people compare names. */
function plain(text: string): string {
  return text.normalize('NFC').toLowerCase()
}
