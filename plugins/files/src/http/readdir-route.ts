import { Readable } from 'node:stream'
import type { FileListEntry, FilesService, RoutesApp } from '@nodekeep/plugin-sdk'
import { userFilesOf } from './request.ts'
import { directoryEntries, pathQuery } from './schemas.ts'

/** Entries that are serialized at once, which takes about a millisecond. */
const pageSize = 500

/** Registers `GET /readdir`. */
export function readdirRoute(app: RoutesApp, files: FilesService): void {
  const schema = {
    operationId: 'listFolder',
    summary: 'List a folder',
    querystring: pathQuery,
    response: { 200: directoryEntries },
  }
  app.get('/readdir', { schema, config: { scope: 'files:read' } }, async (request, reply) => {
    const pages = jsonPages(userFilesOf(files, request).list(request.query.path))
    // The first page shows whether the folder exists.
    const { value: first = '' } = await pages.next()
    const { value: second, done } = await pages.next()
    reply.type('application/json; charset=utf-8')
    if (done) return reply.send(first as never)
    const body = Readable.from(chain(first, second, pages))
    // If the client has left already, the stream never starts, and so would never end the listing.
    body.once('close', () => void pages.return(undefined))
    return reply.send(body as never)
  })
}

/** The entries as the text of a JSON array, in pieces. */
async function* jsonPages(entries: AsyncIterable<FileListEntry>): AsyncGenerator<string, void, undefined> {
  let page: string[] = []
  let opening = '['
  for await (const entry of entries) {
    if (page.length === pageSize) {
      yield `${opening}${page.join(',')}`
      opening = ','
      page = []
    }
    page.push(jsonOf(entry))
  }
  yield `${opening}${page.join(',')}]`
}

/** One entry of a listing (interface, "Directory entry"): folders have no size. */
function jsonOf({ name, type, size, modified }: FileListEntry): string {
  return JSON.stringify({ name, type, ...(type === 'file' && { size }), modified })
}

async function* chain(
  first: string,
  second: string,
  rest: AsyncGenerator<string>,
): AsyncGenerator<string, void, undefined> {
  yield first
  yield second
  yield* rest
}
