import {
  type AuthenticatedUser,
  changeHeaders,
  changeOrigin,
  clientSignal,
  type FilesService,
  invalid,
  isNodekeepError,
  KeyedLock,
  NodekeepError,
  type RoutesApp,
  Type,
  undoHeader,
  userOf,
} from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  committedUpload,
  type NewUpload,
  newUpload,
  sha256,
  success,
  uploadAnswer,
} from '../../protocol/bodies.ts'
import type { Content } from '../../protocol/content-blocks.ts'
import type { Contents } from '../content/contents.ts'
import type { KnownBlocks } from '../content/known-blocks.ts'
import { assemble, missingBlocks, otherContent } from './assemble.ts'
import type { BlockSource, BlockSources } from './block-sources.ts'
import { sizeOfBlock, unpackBlocks } from './packed-blocks.ts'
import type { StagedBlocks } from './staged-blocks.ts'
import type { Upload, Uploads } from './uploads.ts'

/** Bytes of a JSON body with the blocks of a file. */
const mostJson = 4 * 1024 * 1024

interface UploadRouteServices {
  readonly files: FilesService
  readonly blocks: KnownBlocks
  readonly contents: Contents
  readonly uploads: Uploads
  readonly staged: StagedBlocks
  readonly sources: BlockSources
}

const id = Type.String({ maxLength: 100 })
const params = Type.Object({ id })

/** Registers `/api/sync/uploads`. */
export function uploadRoutes(app: RoutesApp, services: UploadRouteServices): void {
  const { files, blocks, contents, uploads, staged, sources } = services
  const config = { scope: 'files:write' }
  const commits = new KeyedLock()

  app.post(
    '/api/sync/uploads',
    {
      config: { ...config, answersLate: true },
      bodyLimit: mostJson,
      schema: {
        operationId: 'beginUpload',
        summary: 'Begin the upload of a file, and learn which blocks of it the node lacks',
        body: newUpload,
        response: { 200: uploadAnswer },
      },
    },
    async (request, reply) => {
      const user = userOf(request)
      const { uuid } = user
      const { body } = request
      checkBlocks(body)
      if (body.size > files.maxFileSize) {
        throw new NodekeepError(
          'PAYLOAD_TOO_LARGE',
          `The file is too large: the limit is ${files.maxFileSize} bytes (storage.maxFileSize)`,
        )
      }
      await checkCondition(uuid, body)
      // The file to replace has most blocks of a large file that changed a little.
      if (body.ifRevision !== undefined && body.blocks.length > 1) {
        const replaced = { path: body.path, revision: body.ifRevision }
        await contents.inTurn(uuid, () => contents.contentOf(uuid, replaced, clientSignal(reply)))
      }
      await refuseUnstageable(user, body)
      const upload = uploads.create(uuid, body)
      await removeUnnamed(uuid)
      const found = await sources.find(user, body)
      // Bytes that have no room are not even sent. What is staged has its room, and the upload may go on later.
      using room = files.holdRoom(user)
      await room.extend(body.size - stagedBytes(body, found))
      return answerOf(upload, found)
    },
  )

  app.get(
    '/api/sync/uploads/:id',
    {
      config,
      schema: {
        operationId: 'getUpload',
        summary: 'Get the blocks that an upload lacks',
        params,
        response: { 200: uploadAnswer },
      },
    },
    async (request) => {
      const user = userOf(request)
      const upload = uploads.get(user.uuid, request.params.id)
      return answerOf(upload, await sources.find(user, contentOf(upload)))
    },
  )

  app.delete(
    '/api/sync/uploads/:id',
    {
      config,
      schema: {
        operationId: 'cancelUpload',
        summary: 'Forget an upload, and the blocks that were sent for it',
        params,
        response: { 200: success },
      },
    },
    async (request) => {
      const { uuid } = userOf(request)
      await end(uuid, uploads.get(uuid, request.params.id))
      return { success: true }
    },
  )

  app.post(
    '/api/sync/uploads/:id/commit',
    {
      config: { ...config, answersLate: true },
      schema: {
        operationId: 'commitUpload',
        summary: 'Store the file of an upload whose blocks are all there',
        headers: changeHeaders,
        params,
        response: { 200: committedUpload },
      },
    },
    async (request, reply) =>
      commits.run([request.params.id], () => commit(request, reply, request.params.id)),
  )

  app.register(async (raw: RoutesApp) => {
    raw.removeAllContentTypeParsers()
    raw.addContentTypeParser('*', (_request, _body, done) => done(null))
    raw.put(
      '/api/sync/uploads/:id/blocks/:sha256',
      {
        config: { ...config, body: 'stream' },
        onRequest: takeAnyType,
        schema: {
          operationId: 'sendBlock',
          summary: 'Send a block of an upload',
          params: Type.Object({ id, sha256 }),
          requestBody: {
            content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
          },
          response: { 200: success },
        },
      },
      async (request) => {
        const { uuid } = userOf(request)
        const hash = request.params.sha256
        const size = sizeOfBlock(uploads.get(uuid, request.params.id).packed, hash)
        if (size === null) throw new NodekeepError('NOT_FOUND', 'The upload has no such block.')
        // Leaving the loop must not end the connection, because an error is still to be sent on it.
        await staged.add(uuid, { sha256: hash, size }, request.raw.iterator({ destroyOnReturn: false }))
        return { success: true }
      },
    )
  })

  /** @throws NodekeepError PRECONDITION_FAILED before any byte is sent; the commit checks again */
  async function checkCondition(userUuid: string, { path, ifRevision }: NewUpload): Promise<void> {
    const entry = await files.for({ uuid: userUuid }).stat(path).catch(nullIfMissing)
    if (entry?.revision === ifRevision) return
    throw new NodekeepError(
      'PRECONDITION_FAILED',
      ifRevision === undefined
        ? 'Something is at the path already.'
        : 'The file does not have the revision of the upload any more.',
    )
  }

  /**
   * Refuses a file whose blocks can never be staged together: its client would send them again and again.
   *
   * @throws NodekeepError PAYLOAD_TOO_LARGE
   */
  async function refuseUnstageable(user: AuthenticatedUser, content: NewUpload): Promise<void> {
    if (content.size <= staged.mostBytes) return
    const found = await sources.find(user, content)
    const sizes = new Map(content.blocks.map((block) => [block.sha256, block.size]))
    let needed = 0
    for (const [hash, bytes] of sizes) {
      const source = found.get(hash)
      if (source === undefined || 'staged' in source) needed += bytes
    }
    if (needed <= staged.mostBytes) return
    throw new NodekeepError(
      'PAYLOAD_TOO_LARGE',
      `The file is too large to be sent in blocks: the limit is ${staged.mostBytes} bytes (file-sync.stagedBytesPerUser)`,
    )
  }

  function answerOf(upload: Upload, found: ReadonlyMap<string, BlockSource>) {
    const content = contentOf(upload)
    const named = new Set(found.keys())
    const missing = content.blocks.flatMap((block, number) => {
      if (named.has(block.sha256)) return []
      named.add(block.sha256)
      return number
    })
    const { path, size, expires } = upload
    return { id: upload.id, path, size, sha256: upload.sha256, missing, expires: expires.toISOString() }
  }

  async function commit(request: FastifyRequest, reply: FastifyReply, uploadId: string) {
    const signal = clientSignal(reply)
    const user = userOf(request)
    const { uuid } = user
    const upload = uploads.get(uuid, uploadId)
    const { path, size, modified, ifRevision, sha256 } = upload
    const content = contentOf(upload)
    const found = await sources.find(user, content)
    if (content.blocks.some((block) => !found.has(block.sha256))) throw missingBlocks()
    const origin = changeOrigin(request)
    const own = files.for({ uuid }, origin)
    const replaced = ifRevision === null ? undefined : (await own.stat(path).catch(nullIfMissing))?.sha256
    const ofStaged = [...found].filter(([, source]) => 'staged' in source).map(([hash]) => hash)
    const entry = await staged.lendRoom(uuid, ofStaged, async (room) => {
      const written = await own
        .write(path, assemble(own, content, found, signal), {
          ...(modified !== null && { modified }),
          ...(ifRevision === null ? { ifAbsent: true } : { ifRevision }),
          size,
          sha256,
          room,
          signal,
        })
        .catch(async (error) => {
          if (error === otherContent) await forgetSources(uuid, upload, found)
          throw error
        })
      await end(uuid, upload)
      return written
    })
    // Blocks that come from a file with the whole content were not compared with their hashes.
    const areCompared = found
      .values()
      .every((source) => 'staged' in source || source.content.sha256 !== sha256)
    if (areCompared) blocks.set(uuid, content)
    if (replaced !== undefined) await contents.forgetUnused(uuid, replaced)
    if (entry.isUndoable) reply.header(undoHeader, origin.group)
    return {
      path: entry.path,
      revision: entry.revision,
      size: entry.size,
      modified: entry.modified.toISOString(),
    }
  }

  /** The client has lied, or what the node has is damaged. In both cases nothing of it counts any more. */
  async function forgetSources(
    userUuid: string,
    upload: Upload,
    found: ReadonlyMap<string, BlockSource>,
  ): Promise<void> {
    for (const source of found.values()) {
      if ('staged' in source) continue
      blocks.forget(userUuid, source.content.sha256)
      sources.leaveOut(userUuid, source)
    }
    uploads.remove(upload.id)
    await staged.remove(userUuid, () => found.keys())
  }

  /** Removes the staged blocks that were of uploads which are gone. */
  async function removeUnnamed(userUuid: string): Promise<void> {
    await staged.remove(userUuid, (hashes) => uploads.unnamed(userUuid, hashes))
  }

  async function end(userUuid: string, { id: uploadId }: Upload): Promise<void> {
    uploads.remove(uploadId)
    await removeUnnamed(userUuid)
  }
}

/** Bytes of a content whose blocks are staged. */
function stagedBytes({ blocks }: Pick<Content, 'blocks'>, found: ReadonlyMap<string, BlockSource>): number {
  const sizes = new Map(blocks.map(({ sha256, size }) => [sha256, size]))
  return [...found].reduce(
    (sum, [hash, source]) => sum + ('staged' in source ? (sizes.get(hash) ?? 0) : 0),
    0,
  )
}

function contentOf({ sha256, size, packed }: Upload): Content {
  return { sha256, size, blocks: unpackBlocks(packed) }
}

function nullIfMissing(error: unknown): null {
  if (isNodekeepError(error) && error.code === 'NOT_FOUND') return null
  throw error
}

/** @throws NodekeepError VALIDATION_ERROR */
function checkBlocks({ size, blocks, ifRevision, ifAbsent }: NewUpload): void {
  if ((ifRevision === undefined) === (ifAbsent === undefined)) {
    throw invalid('Send either "ifRevision" or "ifAbsent".')
  }
  const sizes = new Map(blocks.map((block) => [block.sha256, block.size]))
  if (blocks.some((block) => sizes.get(block.sha256) !== block.size)) {
    throw invalid('Blocks with the same SHA-256 must have the same size.')
  }
  if (blocks.reduce((sum, block) => sum + block.size, 0) !== size) {
    throw invalid('The sizes of the blocks must add up to the size of the file.')
  }
}

/** The type of a raw body does not matter, and need not be valid. Fastify would demand a valid one. */
async function takeAnyType({ raw }: FastifyRequest): Promise<void> {
  raw.headers['content-type'] = 'application/octet-stream'
}
