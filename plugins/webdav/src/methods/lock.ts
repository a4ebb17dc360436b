import { type FileEntry, invalid, isNodekeepError, NodekeepError, parentOf } from '@nodekeep/plugin-sdk'
import type { FastifyReply } from 'fastify'
import { hrefOf, isBelow } from '../dav-paths.ts'
import { type DavRequest, entryAt, requireParent } from '../dav-request.ts'
import { Locked } from '../errors.ts'
import { lockDiscovery } from '../locks/lock-xml.ts'
import { coveringLocks, type Lock, type NewLock } from '../locks/locks.ts'
import { statusResponse } from '../multistatus.ts'
import { davElementIn, isDav, parseXml, standaloneXml, xmlHead, xmlType } from '../xml.ts'
import { sendMultistatus } from './propfind.ts'

/** Bytes of what a client says about the owner of a lock. */
const longestOwner = 4096

/** Seconds that a lock lasts if the client does not say. */
const usualSeconds = 60 * 60

/** Answers LOCK (RFC 4918, section 9.10): with a body it makes a lock, without one it renews locks. */
export async function lock(dav: DavRequest, body: Uint8Array): Promise<FastifyReply> {
  return body.length === 0 ? renewLock(dav) : makeLock(dav, body)
}

/** Answers UNLOCK (RFC 4918, section 9.11). */
export async function unlock({ request, reply, services, user, path }: DavRequest): Promise<FastifyReply> {
  const token = /^\s*<([^<>]+)>\s*$/.exec(String(request.headers['lock-token'] ?? ''))?.[1]
  if (token === undefined)
    throw invalid('Send the token of the lock in the header "lock-token", as "<urn:uuid:…>".')
  const covering = coveringLocks(services.locks.of(user.uuid), path)
  if (!covering.some((lock) => lock.token === token))
    throw new NodekeepError('CONFLICT', 'There is no such lock here. It may have ended.', {
      reason: 'lock-token-matches-request-uri',
    })
  services.locks.remove(user.uuid, token)
  return reply.code(204).send()
}

async function renewLock(dav: DavRequest): Promise<FastifyReply> {
  const { services, user, path, tokens, request, reply } = dav
  const mine = coveringLocks(services.locks.of(user.uuid), path).filter(({ token }) => tokens.has(token))
  if (mine.length === 0)
    throw new NodekeepError('PRECONDITION_FAILED', 'There is no such lock here. It may have ended.', {
      reason: 'lock-token-matches-request-uri',
    })
  const seconds = secondsOf(request.headers.timeout, services.longestLockSeconds)
  const renewed = mine.map((lock) => services.locks.renew(user.uuid, lock, seconds))
  return reply.code(200).type(xmlType).send(lockDocument(renewed))
}

async function makeLock(dav: DavRequest, body: Uint8Array): Promise<FastifyReply> {
  const { services, user, path, reply } = dav
  const wanted = await wantedLock(dav, body)
  const entry = await entryAt(dav, path)
  if (entry === null) {
    await requireParent(dav, path)
    dav.checkLocks({ folders: [parentOf(path)] })
  }
  try {
    const made = services.locks.create(user.uuid, wanted)
    const isNew = entry === null && (await makeEmptyFile(dav, made))
    reply.header('lock-token', `<${made.token}>`)
    return reply
      .code(isNew ? 201 : 200)
      .type(xmlType)
      .send(lockDocument([made]))
  } catch (error) {
    const others = error instanceof Locked ? error.paths.filter((other) => other !== path) : []
    if (others.length === 0 || others.some((other) => isBelow(path, other))) throw error
    await sendMultistatus(reply, [conflicts(path, entry, others)])
    return reply
  }
}

/** Something in the folder is locked by another program (RFC 4918, section 9.10.3). */
function conflicts(path: string, entry: FileEntry | null, others: readonly string[]): string {
  const own = statusResponse(hrefOf(path, entry?.type === 'directory'), 424)
  return others.map((other) => statusResponse(hrefOf(other, false), 423)).join('') + own
}

/** A lock on a free path makes an empty file there (RFC 4918, section 7.3), so that nobody else takes the name. */
async function makeEmptyFile({ files, path, services, user }: DavRequest, { token }: Lock): Promise<boolean> {
  try {
    await files.write(path, noBytes(), { ifAbsent: true, size: 0 })
    return true
  } catch (error) {
    // Something has come to the path meanwhile. It is locked now.
    if (isNodekeepError(error) && error.code === 'PRECONDITION_FAILED') return false
    services.locks.remove(user.uuid, token)
    throw error
  }
}

async function wantedLock({ request, services, path }: DavRequest, body: Uint8Array): Promise<NewLock> {
  const root = await parseXml(body)
  const scope = davElementIn(root, 'lockscope')
  const type = davElementIn(root, 'locktype')
  const isShared = scope !== undefined && davElementIn(scope, 'shared') !== undefined
  const isExclusive = scope !== undefined && davElementIn(scope, 'exclusive') !== undefined
  const isWrite = type !== undefined && davElementIn(type, 'write') !== undefined
  if (!isDav(root, 'lockinfo') || isShared === isExclusive || !isWrite)
    throw invalid(
      'The body of a LOCK must be the element "lockinfo" with a "lockscope" and the "locktype" "write".',
    )
  const depth = String(request.headers.depth ?? 'infinity').toLowerCase()
  if (depth !== '0' && depth !== 'infinity')
    throw invalid('The header "depth" of a LOCK must be 0 or infinity.')
  const owner = davElementIn(root, 'owner')
  const ownerXml = owner === undefined ? '' : standaloneXml(owner)
  if (Buffer.byteLength(ownerXml) > longestOwner)
    throw invalid(`The element "owner" of a LOCK has more than ${longestOwner} bytes.`)
  const seconds = secondsOf(request.headers.timeout, services.longestLockSeconds)
  return { path, isDeep: depth === 'infinity', isShared, owner: ownerXml, seconds }
}

/** The first time of the header `timeout` that the node knows (RFC 4918, section 10.7), within the limit. */
function secondsOf(header: unknown, most: number): number {
  for (const wanted of String(header ?? '').split(',')) {
    if (/^\s*infinite\s*$/i.test(wanted)) return most
    const seconds = /^\s*second-(\d{1,10})\s*$/i.exec(wanted)?.[1]
    if (seconds !== undefined) return Math.min(Math.max(Number(seconds), 1), most)
  }
  return Math.min(usualSeconds, most)
}

function lockDocument(locks: readonly Lock[]): string {
  return `${xmlHead}<D:prop xmlns:D="DAV:"><D:lockdiscovery>${lockDiscovery(locks)}</D:lockdiscovery></D:prop>\n`
}

async function* noBytes(): AsyncGenerator<Uint8Array, void, undefined> {}
