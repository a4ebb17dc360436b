import { finished } from 'node:stream'
import {
  type FileEntry,
  type FileListEntry,
  type FilesService,
  NodekeepError,
  nameOf,
  parentOf,
  type RoutesApp,
  type UserFiles,
  userOf,
} from '@nodekeep/plugin-sdk'
import { sendArchive } from '@nodekeep/plugin-sdk/stored-content'
import { makeZip } from 'client-zip'
import { create as contentDisposition } from 'content-disposition'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { outermost } from '../paths/user-path.ts'
import {
  ArchiveMemory,
  type ArchiveMemoryOptions,
  type ArchiveShare,
  bytesOfEntry,
} from './archive-memory.ts'
import { entriesBelow } from './entries-below.ts'
import { ReadAhead } from './read-ahead.ts'
import { decodeUtf8, userFilesOf } from './request.ts'
import { fileBytes, pathQuery, selectionBody } from './schemas.ts'

/** Entries of an archive. */
const mostEntries = 100_000

/** Paths of a selection. The node checks each before the answer begins. */
const mostPaths = 10_000

/** Bytes of a body that names a selection: 800 for each path. In a form, a letter outside of ASCII takes 6 bytes or more. */
const mostBodyBytes = 8 * 1024 * 1024

/** Archives of one user at a time. */
const mostAtOnce = 8

/** Bytes that a path of a selection takes until its archive ends, apart from its letters. */
const pathBytes = 600

/** Bytes of all selections at a time, apart from small ones. */
const mostSelectedBytes = 32 * 1024 * 1024

/** Bytes of a small selection. */
const smallSelection = 64 * 1024

const form = 'application/x-www-form-urlencoded'

/** The files and folders of an archive. Their names in it begin below `base`, the nearest folder that contains all of them. */
interface Selection {
  readonly base: string
  readonly entries: readonly FileEntry[]
}

/** Entries in their order. A folder has no reading. */
type Readings = ReturnType<ReadAhead['open']>

/** Memory that all archives share. */
interface SharedMemory {
  readonly readAhead: ReadAhead
  readonly memory: ArchiveMemory
}

/** Registers `GET` and `POST /api/files/archive`. */
export function archiveRoutes(app: RoutesApp, files: FilesService, options: ArchiveMemoryOptions = {}): void {
  const config = { scope: 'files:read' }
  const openOf = new Map<string, number>()
  const shared = { readAhead: new ReadAhead(), memory: new ArchiveMemory(options) }

  /** @throws NodekeepError TOO_MANY_REQUESTS */
  function countOpen(request: FastifyRequest, reply: FastifyReply): void {
    const { uuid } = userOf(request)
    const open = openOf.get(uuid) ?? 0
    if (open >= mostAtOnce) {
      const message = `You are downloading ${mostAtOnce} archives already. Wait until one of them has ended.`
      throw new NodekeepError('TOO_MANY_REQUESTS', message, { headers: { 'retry-after': '10' } })
    }
    openOf.set(uuid, open + 1)
    finished(reply.raw, () => {
      const left = (openOf.get(uuid) ?? 1) - 1
      if (left > 0) openOf.set(uuid, left)
      else openOf.delete(uuid)
    })
  }

  let selectedBytes = 0

  /** @throws NodekeepError TOO_MANY_REQUESTS */
  function countSelected(paths: readonly string[], reply: FastifyReply): void {
    const bytes = paths.reduce((sum, path) => sum + 2 * path.length + pathBytes, 0)
    if (bytes <= smallSelection) return
    if (selectedBytes + bytes > mostSelectedBytes) {
      const message =
        'The node makes archives of too many selected files already. Wait until one of them has ended, or download the folder that contains the files.'
      throw new NodekeepError('TOO_MANY_REQUESTS', message, { headers: { 'retry-after': '10' } })
    }
    selectedBytes += bytes
    finished(reply.raw, () => {
      selectedBytes -= bytes
    })
  }

  const response = {
    200: { description: 'The archive.', content: { 'application/zip': { schema: fileBytes } } },
  }
  const ofFolder = {
    operationId: 'downloadFolder',
    summary: 'Download a folder with everything in it as a ZIP archive',
    querystring: pathQuery,
    response,
  }
  app.get(
    '/api/files/archive',
    { schema: ofFolder, config, exposeHeadRoute: false },
    async (request, reply) => {
      countOpen(request, reply)
      const userFiles = userFilesOf(files, request)
      const folder = await userFiles.stat(request.query.path)
      if (folder.type === 'file')
        throw new NodekeepError('VALIDATION_ERROR', `"${folder.path}" is a file. Read it with GET /read.`)
      const base = folder.path === '/' ? '/' : parentOf(folder.path)
      return send(reply, shared, userFiles, { base, entries: [folder] })
    },
  )

  const ofSelection = {
    operationId: 'downloadSelection',
    summary: 'Download files and folders as one ZIP archive',
    body: selectionBody,
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: selectionBody },
        // A browser saves the answer to a form as it arrives. It would change line breaks in names, but JSON has none.
        [form]: { schema: selectionBody, encoding: { paths: { contentType: 'application/json' } } },
      },
    },
    response,
  }
  // Nested, so that only this route takes forms.
  app.register(async (posted: RoutesApp) => {
    posted.addContentTypeParser<Buffer>(form, { parseAs: 'buffer' }, (_request, body, done) => {
      const paths = pathsIn(body)
      if (paths !== undefined) done(null, { paths })
      else done(new NodekeepError('VALIDATION_ERROR', 'The field "paths" must be a list of paths, in JSON.'))
    })
    posted.post(
      '/api/files/archive',
      { bodyLimit: mostBodyBytes, schema: ofSelection, config },
      async (request, reply) => {
        countOpen(request, reply)
        const { paths } = request.body
        countSelected(paths, reply)
        const userFiles = userFilesOf(files, request)
        return send(reply, shared, userFiles, await selectionOf(userFiles, paths))
      },
    )
  })
}

/** Reads the field "paths" of a form. Returns undefined if it is not there, is not JSON or not UTF-8. */
function pathsIn(form: Buffer): unknown {
  try {
    const text = decodeUtf8(form) ?? ''
    // It throws for bytes that are not UTF-8. `URLSearchParams` would make another name of them.
    decodeURIComponent(text)
    return JSON.parse(new URLSearchParams(text).get('paths') ?? '')
  } catch {
    return undefined
  }
}

async function send(
  reply: FastifyReply,
  { readAhead, memory }: SharedMemory,
  files: UserFiles,
  selection: Selection,
): Promise<never> {
  const { base, entries } = selection
  const end = new AbortController()
  // The end of the stream would wait for the files that are being read.
  finished(reply.raw, () => end.abort())
  const share = await memory.take({
    user: userOf(reply.request).uuid,
    bytes: await bytesOf(files, selection),
    signal: end.signal,
    breakOff() {
      reply.log.info('An archive was broken off: its client took nothing, and another one needs its memory.')
      reply.raw.destroy()
    },
  })
  const name = entries.length === 1 ? (entries[0] as FileEntry).name : nameOf(base)
  reply.headers({
    'content-type': 'application/zip',
    'content-disposition': contentDisposition(`${name === '/' || name === '' ? 'files' : name}.zip`),
    'cache-control': 'private, no-store',
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  })
  const readings = readAhead.open(files, allEntries(files, entries), end)
  const named = zipEntries(readings, base, (name) => memory.add(share, name))
  await sendArchive(reply, zipOf(named, share, end))
  return reply as never
}

/**
 * Finds what some paths name, each entry once.
 *
 * @throws NodekeepError PAYLOAD_TOO_LARGE; NOT_FOUND if nothing is at one of the paths
 */
async function selectionOf(files: UserFiles, paths: readonly string[]): Promise<Selection> {
  if (paths.length > mostPaths) {
    throw new NodekeepError(
      'PAYLOAD_TOO_LARGE',
      `A selection has at most ${mostPaths.toLocaleString('en')} files and folders. Download the folder that contains them.`,
    )
  }
  const found = new Map<string, FileEntry>()
  for (const path of new Set(paths)) {
    const entry = await files.stat(path)
    found.set(entry.path, entry)
  }
  const outer = new Set(outermost(found.keys()))
  const entries = [...found.values()].filter(({ path }) => outer.has(path))
  let base = parentOf((entries[0] as FileEntry).path)
  for (const { path } of entries) while (!isBelow(path, base)) base = parentOf(base)
  return { base, entries }
}

function isBelow(path: string, folder: string): boolean {
  return folder === '/' || path.startsWith(`${folder}/`)
}

/**
 * Returns the bytes that the entries of a selection take in memory.
 *
 * @throws NodekeepError PAYLOAD_TOO_LARGE before the answer begins, since a broken archive would show no reason
 */
async function bytesOf(files: UserFiles, { base, entries }: Selection): Promise<number> {
  let count = 0
  let bytes = 0
  for await (const { path } of allEntries(files, entries)) {
    count += 1
    bytes += bytesOfEntry(nameBelow(base, path))
    if (count <= mostEntries) continue
    throw new NodekeepError(
      'PAYLOAD_TOO_LARGE',
      `There are more than ${mostEntries.toLocaleString('en')} files and folders. Download the folders one by one.`,
    )
  }
  return bytes
}

/**
 * The bytes of an archive. Its files are not compressed: photos, videos and documents already are.
 *
 * @param end ends the archive, and everything that is read for it
 */
async function* zipOf(
  entries: ReturnType<typeof zipEntries>,
  share: ArchiveShare,
  end: AbortController,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = makeZip(entries).getReader()
  try {
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      share.untakenSince = performance.now()
      yield step.value
      share.untakenSince = null
    }
  } finally {
    // A canceled stream of this library leaves the file open that it reads.
    end.abort()
    await entries.return()
  }
}

/** @param add is called with the name of each entry before it comes */
async function* zipEntries(readings: Readings, base: string, add: (name: string) => void) {
  for await (const [{ path, modified }, reading] of readings) {
    const name = nameBelow(base, path)
    add(name)
    if (reading === null) yield { name: `${name}/`, lastModified: zipTime(modified) }
    else {
      const { size, modified: lastModified } = reading.entry
      yield { name, lastModified: zipTime(lastModified), size, input: ReadableStream.from(reading.content) }
    }
  }
}

function nameBelow(base: string, path: string): string {
  return path.slice(base === '/' ? 1 : base.length + 1)
}

/**
 * The range of the MS-DOS times in a ZIP archive, which have 7 bits for the year and no time zone (APPNOTE.TXT,
 * section 4.4.6).
 */
const earliestZipTime = new Date(1980, 0, 1)
const latestZipTime = new Date(2107, 11, 31, 23, 59, 58)

/** Returns the nearest time that a ZIP archive can hold. */
function zipTime(time: Date): Date {
  if (time < earliestZipTime) return earliestZipTime
  return time > latestZipTime ? latestZipTime : time
}

/** Some entries and everything in them, a folder before what is in it. The root itself has no name, and is left out. */
async function* allEntries(
  files: UserFiles,
  entries: readonly FileEntry[],
): AsyncGenerator<FileListEntry, void, undefined> {
  for (const entry of entries) {
    if (entry.path !== '/') yield entry
    if (entry.type === 'directory') yield* entriesBelow(files, entry.path)
  }
}
