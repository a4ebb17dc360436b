import { createHash } from 'node:crypto'
import * as dagCbor from '@ipld/dag-cbor'
import { addressGroup, isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'
import { byteRange, contentHeaders, namesTag, sendContent } from '@nodekeep/plugin-sdk/stored-content'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import type { Publications } from '../publishing/publications.ts'
import { type HeldBlock, holdBlock } from '../store/held-block.ts'
import { sectionHead } from '../store/pack-format.ts'
import type { Store } from '../store/store.ts'
import { DamagedBlock } from '../store/store-view.ts'
import { fileContent, type GetBlock } from '../unixfs/file-blocks.ts'
import { folderBlocks } from '../unixfs/folder-blocks.ts'
import { type FolderEntry, NotUnixFs, unixFsNode } from '../unixfs/unixfs-node.ts'
import { WorkAtOnce } from '../work-at-once.ts'
import { type CarBlock, carBlocks } from './car-blocks.ts'
import { type ContentPath, contentPath, sameBlock } from './content-path.ts'
import { folderPage, folderPageSecurity, mostShown } from './folder-page.ts'
import { nothingThere } from './nothing-there.ts'
import { RememberedBlocks } from './remembered-blocks.ts'
import { type CarRepresentation, representation } from './representation.ts'
import { type ResolvedPath, resolvePath } from './resolve-path.ts'

/** The content of a CID never changes. 336 days, as other gateways say. */
const forever = 'public, max-age=29030400, immutable'

/** Answers at a time, each with up to three blocks of at most 2 MiB in memory. */
const mostAnswers = 64

/** Answers at a time to one address. A browser opens six connections. */
const mostPerAddress = 16

/** A request for published content. */
interface ContentRequest {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly path: ContentPath
  readonly query: URLSearchParams
  readonly resolved: ResolvedPath
  readonly get: GetBlock
}

interface Content {
  readonly headers: Record<string, string>
  readonly size: number
  chunks(range: { readonly start: number; readonly end: number } | null): AsyncIterable<Uint8Array>
}

/** Tells which blocks are public. */
export type PublishedBlocks = Pick<Publications, 'isPublished'>

interface GatewayOptions {
  readonly openStore: () => Promise<Store>
  readonly publications: PublishedBlocks
  /** Milliseconds after which an answer goes on only if its root is still published. Default: five minutes. */
  readonly holdMs: number | undefined
}

/** Answers requests for what is published. */
export class Gateway {
  readonly #openStore: () => Promise<Store>
  readonly #publications: PublishedBlocks
  readonly #holdMs: number | undefined
  readonly #answers = new WorkAtOnce({
    most: mostAnswers,
    mostPerKey: mostPerAddress,
    tooMuch: `The node gives at most ${mostPerAddress} answers at a time to your address. Try again when one has ended.`,
  })
  readonly #remembered = new RememberedBlocks()

  constructor({ openStore, publications, holdMs }: GatewayOptions) {
    this.#openStore = openStore
    this.#publications = publications
    this.#holdMs = holdMs
  }

  /** @throws NodekeepError NOT_FOUND for everything that is not published, whether the node has it or not */
  async answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const [target = '', search = ''] = (request.raw.url ?? '').split(/\?(.*)/s, 2)
    const path = contentPath(target)
    const root = path && sameBlock(path.cid).find(({ bytes }) => this.#publications.isPublished(bytes))
    if (!path || !root) throw nothingThere()
    const query = new URLSearchParams(search)
    return this.#answers.run(addressGroup(request.ip), async () => {
      const store = await this.#openStore()
      let reading: HeldBlock | undefined
      try {
        reading = await holdBlock(store, root, {
          holdMs: this.#holdMs,
          isWanted: () => this.#mayGoOn(root, reply),
        })
        const get: GetBlock = (cid) => store.view.get(cid)
        const resolved = await resolvePath(get, root, path.names)
        if (resolved === null) throw nothingThere()
        return await this.#send({ request, reply, path, query, resolved, get })
      } catch (error) {
        throw failureOf(error)
      } finally {
        reading?.end()
      }
    })
  }

  /** Breaks an answer off if it still goes on some minutes after the withdrawal: its blocks could not go, else. */
  #mayGoOn(root: CID, reply: FastifyReply): boolean {
    if (this.#publications.isPublished(root.bytes)) return true
    reply.raw.destroy()
    return false
  }

  async #send(content: ContentRequest): Promise<FastifyReply> {
    const { request, reply, path, query, resolved } = content
    const wanted = representation(query, request.headers)
    reply.headers({ 'x-ipfs-path': path.text, 'x-ipfs-roots': resolved.entries.join(',') })
    reply.vary('accept')
    if (wanted.kind === 'car') return this.#sendCar(content, wanted)
    if (wanted.kind === 'raw') return sendBlock(content)
    return sendPlain(content)
  }

  async #sendCar(
    { request, reply, query, resolved, get }: ContentRequest,
    car: CarRepresentation,
  ): Promise<FastifyReply> {
    const { target, way } = resolved
    const dups = car.hasDuplicates ? 'y' : 'n'
    const variant = createHash('sha256')
      .update(JSON.stringify([way.join(), car]))
      .digest('base64url')
    const headers = {
      ...savedHeaders('application/vnd.ipld.car', query.get('filename') ?? `${target}.car`),
      'content-type': `application/vnd.ipld.car; version=1; order=dfs; dups=${dups}`,
      'accept-ranges': 'none',
      // Another version of the node may send the blocks in another order.
      etag: `W/"${target}.car.${variant.slice(0, 16)}"`,
      'cache-control': forever,
    }
    if (isNotModified(request, headers.etag)) return notModified(reply, headers)
    if (request.method === 'HEAD') return reply.headers(headers).send()
    using sent = this.#remembered.begin()
    // An identity CID has its bytes in itself.
    const isWanted = (cid: CID) =>
      cid.multihash.code !== identity.code && (car.hasDuplicates || sent.addIfNew(cid))
    const content = carOf(target, carBlocks(get, resolved, car, isWanted))
    await sendContent(reply, { status: 200, headers, length: null, content })
    return reply
  }
}

/** A CAR with one root (https://ipld.io/specs/transport/car/carv1/). */
async function* carOf(root: CID, blocks: AsyncIterable<CarBlock>): AsyncGenerator<Uint8Array> {
  yield sectionHead(dagCbor.encode({ roots: [root], version: 1 }), 0)
  for await (const { cid, bytes } of blocks) {
    yield sectionHead(cid.bytes, bytes.length)
    yield bytes
  }
}

async function sendBlock(content: ContentRequest): Promise<FastifyReply> {
  const { query, resolved, get } = content
  const bytes = await get(resolved.target)
  const headers = {
    ...savedHeaders('application/vnd.ipld.raw', query.get('filename') ?? `${resolved.target}.bin`),
    'accept-ranges': 'bytes',
    etag: `"${resolved.target}.raw"`,
    'cache-control': forever,
  }
  return sendRange(content, {
    headers,
    size: bytes.length,
    async *chunks(range) {
      yield range === null ? bytes : bytes.subarray(range.start, range.end + 1)
    },
  })
}

async function sendPlain(content: ContentRequest): Promise<FastifyReply> {
  const { path, query, resolved, get } = content
  const { target } = resolved
  const node = unixFsNode(target, await get(target))
  if (node.kind === 'symlink')
    throw new NodekeepError('UNPROCESSABLE', 'This is a symbolic link. The node does not follow it.')
  if (node.kind !== 'file') return sendFolder(content)
  const headers = {
    ...contentHeaders(query.get('filename') ?? path.names.at(-1) ?? String(target)),
    etag: `"${target}"`,
    'cache-control': forever,
  }
  return sendRange(content, {
    headers,
    size: node.size,
    chunks: (range) => fileContent(get, target, range ?? undefined),
  })
}

/** A page of the folder is never `index.html` of a stranger: it would be a page of the node's origin. */
async function sendFolder({ request, reply, path, resolved, get }: ContentRequest): Promise<FastifyReply> {
  const headers = {
    etag: `"DirIndex-1_CID-${resolved.target}"`,
    // The page is the node's own, and another version may show the folder in another way.
    'cache-control': 'public, no-cache',
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': folderPageSecurity,
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  }
  if (isNotModified(request, headers.etag)) return notModified(reply, headers)
  if (request.method === 'HEAD') return reply.headers(headers).send()
  const entries: FolderEntry[] = []
  for await (const block of folderBlocks(get, resolved.target)) {
    entries.push(...block.entries)
    if (entries.length > mostShown) break
  }
  const isCut = entries.length > mostShown
  const { text, names } = path
  const page = folderPage({ text, names, entries: entries.slice(0, mostShown), isCut })
  await sendContent(reply, { status: 200, headers, length: null, content: eachInTurn(page) })
  return reply
}

async function* eachInTurn<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items
}

/** Sends content, or one range of it. */
async function sendRange(
  { request, reply }: ContentRequest,
  { headers, size, chunks }: Content,
): Promise<FastifyReply> {
  const tag = headers.etag ?? ''
  if (isNotModified(request, tag)) return notModified(reply, headers)
  // RFC 9110, section 14.2: ranges are for GET only.
  if (request.method === 'HEAD') return reply.headers({ ...headers, 'content-length': size }).send()
  const ifRange = request.headers['if-range']
  const isSame = ifRange === undefined || String(ifRange).trim() === tag
  const range = isSame ? byteRange(request.headers.range, size) : null
  if (range === 'unsatisfiable')
    throw new NodekeepError('RANGE_NOT_SATISFIABLE', `The range is not within the ${size} bytes.`, {
      headers: { 'content-range': `bytes */${size}` },
    })
  if (range === null) {
    await sendContent(reply, { status: 200, headers, length: size, content: chunks(null) })
    return reply
  }
  const { start, end } = range
  const partHeaders = { ...headers, 'content-range': `bytes ${start}-${end}/${size}` }
  await sendContent(reply, {
    status: 206,
    headers: partHeaders,
    length: end - start + 1,
    content: chunks(range),
  })
  return reply
}

/** The headers of a file that only programs for IPFS read. They may do so from pages of any origin: it is public, and verified there. */
function savedHeaders(type: string, name: string): Record<string, string> {
  return {
    ...contentHeaders(name, type),
    'cross-origin-resource-policy': 'cross-origin',
    'access-control-allow-origin': '*',
  }
}

function isNotModified({ headers }: FastifyRequest, tag: string): boolean {
  return namesTag(headers['if-none-match'] ?? '', tag.replace(/^W\//, ''))
}

function notModified(
  reply: FastifyReply,
  { etag = '', 'cache-control': caching = '' }: Readonly<Record<string, string>>,
): FastifyReply {
  return reply.code(304).headers({ etag, 'cache-control': caching }).send()
}

/** A block that is missing below a published one has the same answer as one that is not published. */
function failureOf(error: unknown): unknown {
  if (isNodekeepError(error) && error.code === 'NOT_FOUND') return nothingThere()
  if (error instanceof DamagedBlock)
    return new NodekeepError(
      'SERVICE_UNAVAILABLE',
      'The node cannot read this: its disk has lost or changed the bytes.',
      {
        cause: error,
        permanent: true,
      },
    )
  if (!(error instanceof NotUnixFs)) return error
  return new NodekeepError(
    'UNPROCESSABLE',
    'This is no file and no folder. Add "?format=raw" to read the block.',
    { cause: error },
  )
}
