import {
  type AuthenticatedUser,
  changeOrigin,
  type FileEntry,
  type FileIndex,
  type FilesService,
  isNodekeepError,
  type KeyedLock,
  NodekeepError,
  parentOf,
  type UserFileIndex,
  type UserFiles,
  userOf,
} from '@nodekeep/plugin-sdk'
import { entityTag } from '@nodekeep/plugin-sdk/stored-content'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { pathOnNode, type Target, targetOf } from './dav-paths.ts'
import type { DeadProperties } from './dead-properties.ts'
import { type IfCondition, parseIf, tokensIn } from './locks/if-header.ts'
import { coveringLocks, type LockedChange, type Locks } from './locks/locks.ts'

export interface DavServices {
  readonly files: FilesService
  readonly index: FileIndex
  readonly locks: Locks
  readonly properties: DeadProperties
  /** Of two requests for the same new folder, one makes it, and the other one finds it. */
  readonly making: KeyedLock
  readonly longestLockSeconds: number
}

/** A request whose address, user and header `if` were read, and whose `if` holds. */
export interface DavRequest extends Target {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly services: DavServices
  readonly user: AuthenticatedUser
  readonly files: UserFiles
  readonly index: UserFileIndex
  /** The lock tokens that the client sent in the header `if`. */
  readonly tokens: ReadonlySet<string>
  /** @throws Locked if a lock forbids the change */
  checkLocks(change: LockedChange): void
}

/** @throws NodekeepError VALIDATION_ERROR, PRECONDITION_FAILED if the header `if` does not hold */
export async function davRequest(
  services: DavServices,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<DavRequest> {
  const user = userOf(request)
  const target = targetOf(request.raw.url ?? '')
  const files = services.files.for(user, changeOrigin(request))
  const tokens = await submittedTokens(services, files, request, target.path)
  return {
    ...target,
    request,
    reply,
    services,
    user,
    files,
    index: services.index.for(user),
    tokens,
    checkLocks: (change) => services.locks.check(user.uuid, tokens, change),
  }
}

/** The entry at a path; null if nothing is there. */
export async function entryAt({ files }: Pick<DavRequest, 'files'>, path: string): Promise<FileEntry | null> {
  return files.stat(path).catch(nullIfGone)
}

/** Returns null for the error of an entry that is not there, and throws any other. */
export function nullIfGone(error: unknown): null {
  if (isNodekeepError(error) && error.code === 'NOT_FOUND') return null
  throw error
}

/** @throws NodekeepError CONFLICT if the folder of a new entry is not there (RFC 4918, sections 9.3.1, 9.7.1 and 9.8.5) */
export async function requireParent(dav: Pick<DavRequest, 'files'>, path: string): Promise<void> {
  const parent = parentOf(path)
  if (parent === '/' || (await entryAt(dav, parent))?.type === 'directory') return
  throw new NodekeepError('CONFLICT', `There is no folder "${parent}". Make it before.`)
}

async function submittedTokens(
  { locks }: DavServices,
  files: UserFiles,
  request: FastifyRequest,
  own: string,
): Promise<ReadonlySet<string>> {
  const header = request.headers.if
  if (typeof header !== 'string') return new Set()
  const lists = parseIf(header)
  const all = locks.of(userOf(request).uuid)
  const tags = new Map<string, Promise<string | null>>()

  async function holds({ isNegated, kind, value }: IfCondition, path: string | null): Promise<boolean> {
    if (path === null) return isNegated
    if (kind === 'token') return coveringLocks(all, path).some(({ token }) => token === value) !== isNegated
    const tag = tags.get(path) ?? tagAt(files, path)
    tags.set(path, tag)
    return ((await tag) === value) !== isNegated
  }

  for (const { resource, conditions } of lists) {
    const path = resource === null ? own : pathOf(resource, request)
    const results = await Promise.all(conditions.map((condition) => holds(condition, path)))
    if (results.every(Boolean)) return tokensIn(lists)
  }
  throw new NodekeepError(
    'PRECONDITION_FAILED',
    'The header "if" does not hold: the file has changed, or a lock in it has ended.',
  )
}

/** The path that the header `if` names; null for one that has no files. */
function pathOf(resource: string, request: FastifyRequest): string | null {
  const address = pathOnNode(resource, request.hostname)
  try {
    return address === null ? null : targetOf(address).path
  } catch {
    return null
  }
}

async function tagAt(files: UserFiles, path: string): Promise<string | null> {
  const entry = await files.stat(path).catch(nullIfGone)
  return entry?.type === 'file' ? entityTag(entry) : null
}
