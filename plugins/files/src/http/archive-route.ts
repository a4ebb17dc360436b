import { Readable } from 'node:stream'
import {
  type FileEntry,
  type FileReading,
  type FilesService,
  isNodekeepError,
  NodekeepError,
  type RoutesApp,
  type UserFiles,
} from '@nodekeep/plugin-sdk'
import { makeZip } from 'client-zip'
import { create as contentDisposition } from 'content-disposition'
import { userFilesOf } from './request.ts'
import { fileBytes, pathQuery } from './schemas.ts'

/** Entries of an archive. Each takes some 200 bytes of memory until the archive ends, because its index is at the end. */
const mostEntries = 100_000

/** Registers `GET /api/files/archive`. */
export function archiveRoute(app: RoutesApp, files: FilesService): void {
  const schema = {
    operationId: 'downloadFolder',
    summary: 'Download a folder with everything in it as a ZIP archive',
    querystring: pathQuery,
    response: {
      200: { description: 'The archive.', content: { 'application/zip': { schema: fileBytes } } },
    },
  }
  const config = { scope: 'files:read' }
  app.get('/api/files/archive', { schema, config, exposeHeadRoute: false }, async (request, reply) => {
    const userFiles = userFilesOf(files, request)
    const folder = await userFiles.stat(request.query.path)
    if (folder.type === 'file')
      throw new NodekeepError('VALIDATION_ERROR', `"${folder.path}" is a file. Read it with GET /read.`)
    await checkCount(userFiles, folder)
    reply.headers({
      'content-type': 'application/zip',
      'content-disposition': contentDisposition(`${folder.path === '/' ? 'files' : folder.name}.zip`),
      'cache-control': 'private, no-store',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    })
    return reply.send(Readable.from(zipOf(userFiles, folder), { objectMode: false }) as never)
  })
}

/** @throws NodekeepError PAYLOAD_TOO_LARGE before the answer begins, since a broken archive would tell no reason */
async function checkCount(files: UserFiles, folder: FileEntry): Promise<void> {
  let count = 0
  for await (const _entry of entriesBelow(files, folder.path)) {
    count += 1
    if (count <= mostEntries) continue
    throw new NodekeepError(
      'PAYLOAD_TOO_LARGE',
      `The folder has more than ${mostEntries.toLocaleString('en')} files and folders. Download the folders in it one by one.`,
    )
  }
}

/** The bytes of an archive. Its files are not compressed: photos, videos and documents already are. */
async function* zipOf(files: UserFiles, folder: FileEntry): AsyncGenerator<Uint8Array, void, undefined> {
  const end = new AbortController()
  const entries = zipEntries(files, folder, end.signal)
  const reader = makeZip(entries).getReader()
  try {
    for (let step = await reader.read(); !step.done; step = await reader.read()) yield step.value
  } finally {
    // A canceled stream of this library leaves the file open that it reads.
    end.abort()
    await entries.return()
  }
}

async function* zipEntries(files: UserFiles, { path, name }: FileEntry, signal: AbortSignal) {
  for await (const entry of entriesBelow(files, path)) {
    const within = path === '/' ? entry.path.slice(1) : `${name}${entry.path.slice(path.length)}`
    if (entry.type === 'directory') {
      yield { name: `${within}/`, lastModified: entry.modified }
      continue
    }
    const reading = await files.read(entry.path, { signal }).catch(nullIfGone)
    if (reading === null) continue
    const { size, modified } = reading.entry
    yield { name: within, lastModified: modified, size, input: reading.content }
  }
}

/** Everything in a folder, a folder before what is in it. A folder that is gone has nothing in it. */
async function* entriesBelow(files: UserFiles, folder: string): AsyncGenerator<FileEntry, void, undefined> {
  const waiting = [folder]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    try {
      for await (const entry of files.list(path)) {
        if (entry.type === 'directory') waiting.push(entry.path)
        yield entry
      }
    } catch (error) {
      if (path === folder || !isGone(error)) throw error
    }
  }
}

/** The file may be deleted between its listing and its reading. */
function nullIfGone(error: unknown): FileReading | null {
  if (isGone(error)) return null
  throw error
}

function isGone(error: unknown): boolean {
  return isNodekeepError(error) && error.code === 'NOT_FOUND'
}
