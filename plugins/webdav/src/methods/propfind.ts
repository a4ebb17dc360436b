import { type FileListEntry, invalid, parentOf } from '@nodekeep/plugin-sdk'
import { sendContent } from '@nodekeep/plugin-sdk/stored-content'
import type { FastifyReply } from 'fastify'
import { hrefOf } from '../dav-paths.ts'
import type { DavRequest } from '../dav-request.ts'
import { forbidden } from '../errors.ts'
import { multistatusBegin, multistatusEnd, propertyResponse } from '../multistatus.ts'
import { type DescribedEntry, EntryDescriber } from '../properties/described-entries.ts'
import { liveProperties, usualNames } from '../properties/live-properties.ts'
import { type PropertyQuery, parsePropfind } from '../properties/property-request.ts'
import { elementOf, emptyElement, xmlType } from '../xml.ts'

/** Entries of which the answer is written at once, which takes about a millisecond. */
const pageSize = 250

/** Answers PROPFIND (RFC 4918, section 9.1): the properties of a file or folder, and with depth 1 of the entries in it. */
export async function propfind(dav: DavRequest, body: Uint8Array): Promise<FastifyReply> {
  const { reply, request } = dav
  const depth = depthOf(request.headers.depth)
  const query = await parsePropfind(body)
  const entry = await dav.files.stat(dav.path)
  const listed = depth === 1 && entry.type === 'directory' ? dav.files.list(dav.path) : null
  await sendMultistatus(reply, responses(dav, query, entry, listed))
  return reply
}

/** @throws NodekeepError FORBIDDEN for depth "infinity", which is the default; VALIDATION_ERROR for others than 0 and 1 */
export function depthOf(header: unknown): 0 | 1 {
  if (header === '0') return 0
  if (header === '1') return 1
  if (header !== undefined && String(header).toLowerCase() !== 'infinity')
    throw invalid('The header "depth" of a PROPFIND must be 0 or 1.')
  throw forbidden(
    'propfind-finite-depth',
    'The node lists one folder at a time. Send the header "depth" with 0 or 1.',
  )
}

/** Sends pages of responses as they are written, so that a large folder takes little memory. */
export async function sendMultistatus(
  reply: FastifyReply,
  pages: AsyncIterable<string> | Iterable<string>,
): Promise<void> {
  const content = bytesOf(pages)
  // The first page shows whether the folder can be read.
  const first = await content.next()
  await sendContent(reply, {
    status: 207,
    headers: { 'content-type': xmlType, 'cache-control': 'private, no-cache' },
    length: null,
    content: chain(first, content),
  })
}

async function* responses(
  dav: DavRequest,
  query: PropertyQuery,
  entry: FileListEntry,
  listed: AsyncIterable<FileListEntry> | null,
): AsyncGenerator<string, void, undefined> {
  const describer = new EntryDescriber(dav, query)
  const write = async (folder: string, entries: readonly FileListEntry[]) => {
    const described = await describer.describe(folder, entries)
    return described.map((one) => responseOf(query, one)).join('')
  }
  let page = await write(parentOf(dav.path), [entry])
  let entries: FileListEntry[] = []
  for await (const one of listed ?? []) {
    entries.push(one)
    if (entries.length < pageSize) continue
    yield page + (await write(dav.path, entries))
    page = ''
    entries = []
  }
  yield page + (await write(dav.path, entries))
}

/** The answer about one entry. */
export function responseOf(query: PropertyQuery, described: DescribedEntry, href?: string): string {
  const { entry, dead } = described
  const found: string[] = []
  const missing: string[] = []
  const all = query.kind === 'some' ? query.names : [...usualNames, ...(query.kind === 'all' ? query.names : liveProperties.keys())]
  const names = query.kind === 'some' ? all : new Set([...all, ...dead.keys()])
  for (const name of names) {
    const value = liveProperties.get(name)?.(described)
    if (value !== undefined) found.push(query.kind === 'names' ? emptyElement(name) : elementOf(name, value))
    else if (dead.has(name)) found.push(query.kind === 'names' ? emptyElement(name) : (dead.get(name) ?? ''))
    else if (query.kind === 'some') missing.push(emptyElement(name))
  }
  return propertyResponse(href ?? hrefOf(entry.path, entry.type === 'directory'), [
    ...(found.length > 0 || missing.length === 0 ? [{ status: 200, properties: found } as const] : []),
    ...(missing.length > 0 ? [{ status: 404, properties: missing } as const] : []),
  ])
}

async function* bytesOf(
  pages: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let head = multistatusBegin
  for await (const page of pages) {
    yield Buffer.from(head + page)
    head = ''
  }
  yield Buffer.from(head + multistatusEnd)
}

async function* chain(
  first: IteratorResult<Uint8Array, void>,
  rest: AsyncGenerator<Uint8Array, void, undefined>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    if (!first.done) yield first.value
    yield* rest
  } finally {
    await rest.return()
  }
}
