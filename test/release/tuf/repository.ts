import { mkdir, open, readdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Bodies,
  type Body,
  bodyOf,
  type FileFacts,
  factsOf,
  type RoleName,
  type RootBody,
  roleNames,
  type Signers,
  signersOf,
  signMetadata,
  type TargetsBody,
  type VersionsBody,
} from './metadata.ts'
import type { PublicKey, SigningKey } from './signing-key.ts'

const dayMs = 86_400_000

/**
 * The days after which metadata expires. The offline keys sign once a year. A repository whose machine was taken over by
 * somebody without keys, or was forgotten, is refused by nodes after a week.
 */
const lifetimes: Readonly<Record<RoleName, number>> = {
  root: 365,
  targets: 365,
  releases: 90,
  snapshot: 14,
  timestamp: 7,
}

/** The state of a role, for people. */
interface RoleReport {
  readonly role: RoleName
  readonly version: number
  readonly expires: Date
  readonly threshold: number
  /** The number of keys that may sign. */
  readonly keys: number
}

/**
 * The metadata of a TUF repository (https://theupdateframework.github.io/specification/latest/) in a folder of static files, with
 * consistent snapshots: `metadata/` has the newest `timestamp.json`, and all other files with their versions in their names.
 * One program at a time may change it.
 */
export class Repository {
  /** The folder of the repository. */
  readonly folder: string
  #bodies: Bodies
  #contents: Readonly<Record<RoleName, Buffer>>

  private constructor(folder: string, bodies: Bodies, contents: Record<RoleName, Buffer>) {
    this.folder = folder
    this.#bodies = bodies
    this.#contents = contents
  }

  /**
   * Makes a repository without releases.
   *
   * @param keys the keys of each role
   * @param rootThreshold the number of root keys that must sign
   * @param now the time from which metadata counts its life
   * @throws an error if the folder has a repository already
   */
  static async create(
    folder: string,
    keys: Readonly<Record<RoleName, readonly SigningKey[]>>,
    { rootThreshold = 1, now = new Date() } = {},
  ): Promise<Repository> {
    await mkdir(join(folder, 'metadata'), { recursive: true })
    if ((await readdir(join(folder, 'metadata'))).length > 0)
      throw new Error(`${folder} has a repository already.`)
    const signers = (role: RoleName): Signers => ({
      keyids: keys[role].map(({ id }) => id),
      threshold: role === 'root' ? rootThreshold : 1,
    })
    const empty = { spec_version: '1.0.31', version: 0, expires: '' }
    const repository = new Repository(
      folder,
      {
        root: {
          _type: 'root',
          ...empty,
          consistent_snapshot: true,
          keys: publicKeys([...keys.root, ...keys.targets, ...keys.snapshot, ...keys.timestamp]),
          roles: {
            root: signers('root'),
            targets: signers('targets'),
            snapshot: signers('snapshot'),
            timestamp: signers('timestamp'),
          },
        },
        targets: {
          _type: 'targets',
          ...empty,
          targets: {},
          delegations: {
            keys: publicKeys(keys.releases),
            roles: [{ name: 'releases', ...signers('releases'), terminating: true, paths: ['*/*'] }],
          },
        },
        releases: { _type: 'targets', ...empty, targets: {} },
        snapshot: { _type: 'snapshot', ...empty, meta: {} },
        timestamp: { _type: 'timestamp', ...empty, meta: {} },
      },
      {} as Record<RoleName, Buffer>,
    )
    await repository.#publish(repository.#bodies, new Set(roleNames), Object.values(keys).flat(), now)
    return repository
  }

  /** Reads a repository. Signatures are not checked: `verifyRepository` does it. */
  static async open(folder: string): Promise<Repository> {
    const read = async <B extends Body>(name: string) => {
      const content = await readFile(join(folder, 'metadata', name))
      return { content, body: bodyOf<B>(content) }
    }
    const root = await read<RootBody>(`${await newestRoot(folder)}.root.json`)
    const timestamp = await read<VersionsBody>('timestamp.json')
    const { 'snapshot.json': latest } = timestamp.body.meta
    const snapshot = await read<VersionsBody>(`${latest?.version}.snapshot.json`)
    const version = (role: RoleName) => snapshot.body.meta[`${role}.json`]?.version
    const targets = await read<TargetsBody>(`${version('targets')}.targets.json`)
    const releases = await read<TargetsBody>(`${version('releases')}.releases.json`)
    const found = { root, targets, releases, snapshot, timestamp }
    const all = <T>(part: (of: (typeof found)[RoleName]) => T) =>
      Object.fromEntries(roleNames.map((role) => [role, part(found[role])])) as Record<RoleName, T>
    return new Repository(
      folder,
      all(({ body }) => body) as unknown as Bodies,
      all(({ content }) => content),
    )
  }

  /** The files of all releases: length and hashes by path. */
  get targets(): TargetsBody['targets'] {
    return this.#bodies.releases.targets
  }

  /** Describes the state of each role. */
  roles(): RoleReport[] {
    return roleNames.map((role) => {
      const { version, expires } = this.#bodies[role]
      const { keyids, threshold } = signersOf(this.#bodies, role)
      return { role, version, expires: new Date(expires), threshold, keys: keyids.length }
    })
  }

  /**
   * Signs new files of releases. The files must be in their places before.
   *
   * @param targets all files of all releases; those that are not among them are no longer trusted
   */
  async setTargets(
    targets: Readonly<Record<string, FileFacts>>,
    keys: readonly SigningKey[],
    now = new Date(),
  ): Promise<void> {
    const releases = { ...this.#bodies.releases, targets }
    await this.#publish({ ...this.#bodies, releases }, new Set(['releases']), keys, now)
  }

  /**
   * Signs `timestamp` anew, and all other roles whose keys are there and that have lived half of their time.
   *
   * @returns the roles that were signed
   */
  async renew(keys: readonly SigningKey[], now = new Date()): Promise<RoleName[]> {
    const due = roleNames.filter((role) => {
      const { keyids, threshold } = signersOf(this.#bodies, role)
      const left = new Date(this.#bodies[role].expires).getTime() - now.getTime()
      const isDue = role === 'timestamp' || left < (lifetimes[role] * dayMs) / 2
      return isDue && keys.filter(({ id }) => keyids.includes(id)).length >= threshold
    })
    return this.#publish(this.#bodies, new Set(due.length > 0 ? due : ['timestamp']), keys, now)
  }

  /**
   * Replaces the keys of a role. The former keys are no longer trusted, unless they are among the new ones.
   *
   * @param options.threshold the number of keys that must sign from now on. Default: as many as before
   * @param keys the keys that sign the change: those of the role that names the keys, which for `root` are the former and the new
   *   ones, and those of `snapshot` and `timestamp`
   */
  async replaceKeys(
    role: RoleName,
    successors: readonly SigningKey[],
    keys: readonly SigningKey[],
    { threshold = signersOf(this.#bodies, role).threshold, now = new Date() } = {},
  ): Promise<RoleName[]> {
    if (threshold < 1 || threshold > successors.length)
      throw new Error(
        `The threshold must be from 1 to ${successors.length}, the number of keys, and is ${threshold}. Name all keys that "${role}" has from now on.`,
      )
    const signers = { keyids: successors.map(({ id }) => id), threshold }
    const { root, targets } = this.#bodies
    if (role === 'releases') {
      const [delegated] = targets.delegations?.roles ?? []
      if (delegated === undefined) throw new Error('targets.json delegates to no role.')
      const delegations = { keys: publicKeys(successors), roles: [{ ...delegated, ...signers }] as const }
      const changed = { ...this.#bodies, targets: { ...targets, delegations } }
      return this.#publish(changed, new Set(['targets', 'releases']), [...keys, ...successors], now)
    }
    const roles = { ...root.roles, [role]: signers }
    const used = new Set(Object.values(roles).flatMap(({ keyids }) => keyids))
    const known = Object.entries({ ...root.keys, ...publicKeys(successors) })
    const changed = { ...root, roles, keys: Object.fromEntries(known.filter(([id]) => used.has(id))) }
    return this.#publish(
      { ...this.#bodies, root: changed },
      new Set(['root', role]),
      [...keys, ...successors],
      now,
    )
  }

  /**
   * Gives changed roles a new version, signs them, and then writes them. The order of the files lets a node that asks meanwhile see
   * the state before or the state after.
   */
  async #publish(
    bodies: Bodies,
    changed: ReadonlySet<RoleName>,
    keys: readonly SigningKey[],
    now: Date,
  ): Promise<RoleName[]> {
    const next = { ...bodies } as { -readonly [role in RoleName]: Bodies[role] }
    const contents = { ...this.#contents }
    const signed: RoleName[] = []
    const sign = <R extends RoleName>(role: R, body: Bodies[R]) => {
      const expires = new Date(now.getTime() + lifetimes[role] * dayMs)
      next[role] = {
        ...body,
        version: body.version + 1,
        expires: expires.toISOString().replace(/\.\d+Z$/, 'Z'),
      }
      const signers = [signersOf(next, role)]
      if (role === 'root' && this.#contents.root !== undefined) signers.push(this.#bodies.root.roles.root)
      contents[role] = signMetadata(role, next[role], signers, keys)
      signed.push(role)
    }
    const versionOf = (role: RoleName) => ({ version: next[role].version, ...factsOf(contents[role]) })
    for (const role of ['root', 'targets', 'releases'] as const) if (changed.has(role)) sign(role, next[role])
    if (changed.has('snapshot') || signed.includes('targets') || signed.includes('releases')) {
      const meta = { 'releases.json': versionOf('releases'), 'targets.json': versionOf('targets') }
      sign('snapshot', { ...next.snapshot, meta })
    }
    if (changed.has('timestamp') || signed.includes('snapshot')) {
      sign('timestamp', { ...next.timestamp, meta: { 'snapshot.json': versionOf('snapshot') } })
    }
    for (const role of signed) {
      const name = role === 'timestamp' ? 'timestamp.json' : `${next[role].version}.${role}.json`
      await replaceFile(join(this.folder, 'metadata', name), contents[role])
      // Builds of releases pin the newest root.
      if (role === 'root') await replaceFile(join(this.folder, 'metadata/root.json'), contents.root)
    }
    this.#bodies = next
    this.#contents = contents
    return signed
  }
}

async function newestRoot(folder: string): Promise<number> {
  const names = await readdir(join(folder, 'metadata')).catch(() => [])
  const versions = names.flatMap((name) => /^(\d+)\.root\.json$/.exec(name)?.[1] ?? []).map(Number)
  if (versions.length === 0) throw new Error(`${folder} has no repository. npm run tuf -- init makes one.`)
  return Math.max(...versions)
}

function publicKeys(keys: readonly SigningKey[]): Record<string, PublicKey> {
  return Object.fromEntries(keys.map((key) => [key.id, key.public]))
}

/** Writes a file so that a reader sees the whole content before or the whole content after. */
export async function replaceFile(file: string, content: string | Buffer): Promise<void> {
  const temporary = `${file}.new`
  const handle = await open(temporary, 'w', 0o644)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(temporary, file)
}
