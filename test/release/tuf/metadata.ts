import { createHash } from 'node:crypto'
import { Metadata, type MetadataKind } from '@tufjs/models'
import type { PublicKey, SigningKey } from './signing-key.ts'

/** The four roles of every repository, and `releases`, to which `targets` delegates all files. */
export const roleNames = ['root', 'targets', 'releases', 'snapshot', 'timestamp'] as const
export type RoleName = (typeof roleNames)[number]

/** The keys that may sign for a role, and the number of them that must. */
export interface Signers {
  readonly keyids: readonly string[]
  readonly threshold: number
}

/** The signed part of the metadata of a role (TUF specification, section 4). */
export interface Body {
  readonly _type: 'root' | 'targets' | 'snapshot' | 'timestamp'
  readonly spec_version: string
  readonly version: number
  /** ISO 8601, in UTC, without milliseconds. */
  readonly expires: string
}

export interface RootBody extends Body {
  readonly consistent_snapshot: true
  readonly keys: Readonly<Record<string, PublicKey>>
  readonly roles: Readonly<Record<Exclude<RoleName, 'releases'>, Signers>>
}

/** The length in bytes and the hashes of a file. */
export interface FileFacts {
  readonly length: number
  /** In hexadecimal digits. */
  readonly hashes: { readonly sha256: string }
}

export interface TargetsBody extends Body {
  /** By the path of the file, such as `linux-x64/index.json`. */
  readonly targets: Readonly<Record<string, FileFacts>>
  readonly delegations?: {
    readonly keys: Readonly<Record<string, PublicKey>>
    readonly roles: readonly [
      Signers & { readonly name: string; readonly terminating: boolean; readonly paths: readonly string[] },
    ]
  }
}

/** The body of `snapshot` and `timestamp`. */
export interface VersionsBody extends Body {
  /** By the name of the file without its version, such as `targets.json`. */
  readonly meta: Readonly<Record<string, FileFacts & { readonly version: number }>>
}

/** The bodies of all roles of a repository. */
export interface Bodies {
  readonly root: RootBody
  readonly targets: TargetsBody
  readonly releases: TargetsBody
  readonly snapshot: VersionsBody
  readonly timestamp: VersionsBody
}

/** Returns the keys that may sign for a role. */
export function signersOf({ root, targets }: Pick<Bodies, 'root' | 'targets'>, role: RoleName): Signers {
  if (role !== 'releases') return root.roles[role]
  const delegated = targets.delegations?.roles[0]
  if (delegated === undefined) throw new Error('targets.json delegates to no role.')
  return delegated
}

/**
 * Signs metadata.
 *
 * @param signers each of them must be satisfied: a new `root` needs the keys of the former one too
 * @returns the content of its file
 * @throws an error that names the keys if too few of them are there
 */
export function signMetadata(
  role: RoleName,
  body: Body,
  signers: readonly Signers[],
  keys: readonly SigningKey[],
): Buffer {
  const metadata = Metadata.fromJSON(body._type as MetadataKind.Root, {
    signatures: [],
    signed: structuredClone(body) as never,
  })
  for (const { keyids, threshold } of signers) {
    const present = keys.filter(({ id }) => keyids.includes(id))
    if (present.length < threshold) throw new MissingKeys(role, threshold, present.length, keyids)
    for (const key of present) metadata.sign((data) => key.sign(data))
  }
  return Buffer.from(`${JSON.stringify(metadata.toJSON(), null, 1)}\n`)
}

/** Metadata could not be signed. */
class MissingKeys extends Error {
  override readonly name = 'MissingKeys'

  constructor(role: RoleName, threshold: number, present: number, keyids: readonly string[]) {
    const ids = keyids.map((id) => id.slice(0, 8)).join(', ')
    super(
      `"${role}" must be signed by ${threshold} of the keys ${ids}, and ${present} of them are here. Name their files with --keys, or put them into TUF_KEYS.`,
    )
  }
}

/** Reads the signed part of metadata. Its signatures are not checked. */
export function bodyOf<B extends Body>(content: Buffer): B {
  return JSON.parse(content.toString('utf8')).signed
}

/** Describes a content that is in memory. */
export function factsOf(content: Buffer): FileFacts {
  return { length: content.length, hashes: { sha256: createHash('sha256').update(content).digest('hex') } }
}
