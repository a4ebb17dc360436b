import { type FileListEntry, invalid, parentOf } from '@nodekeep/plugin-sdk'
import { sendContent } from '@nodekeep/plugin-sdk/stored-content'
import type { FastifyReply } from 'fastify'
import { hrefOf } from '../dav-paths.ts'
import type { DavRequest } from '../dav-request.ts'
import { forbidden } from '../errors.ts'
import { multistatusBegin, multistatusEnd, propertyResponse } from '../multistatus.ts'
import { type DescribedEntry, EntryDescriber } from '../properties/described-entries.ts'
import { liveProperties, namesAskedBy } from '../properties/live-properties.ts'
import { type PropertyQuery, parsePropfind } from '../properties/property-request.ts'
import { elementWriter, emptyElement, xmlType } from '../xml.ts'

/** Entries of which the answer is written at once: some 80 KB, so that a client that reads slowly holds little memory. */
const pageSize = 100

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
  const write = responseWriter(query)
  const own = hrefOf(dav.path, entry.type === 'directory')
  let page = (await describer.describe(parentOf(dav.path), [entry])).map((one) => write(own, one)).join('')
  const writePage = async (entries: readonly FileListEntry[]) => {
    const described = await describer.describe(dav.path, entries)
    return page + described.map((one) => write(own + nameInHref(one.entry), one)).join('')
  }
  let entries: FileListEntry[] = []
  for await (const one of listed ?? []) {
    entries.push(one)
    if (entries.length < pageSize) continue
    yield await writePage(entries)
    page = ''
    entries = []
  }
  yield await writePage(entries)
}

function nameInHref({ name, type }: FileListEntry): string {
  return type === 'directory' ? `${encodeURIComponent(name)}/` : encodeURIComponent(name)
}

/** Returns a function that writes the answer about an entry at an address. */
export function responseWriter(query: PropertyQuery): (href: string, described: DescribedEntry) => string {
  const { kind } = query
  const names = namesAskedBy(query)
  const properties = Array.from(names, (name) => ({
    name,
    content: liveProperties.get(name),
    write: elementWriter(name),
  }))
  return (href, described) => {
    const { dead } = described
    const found: string[] = []
    const missing: string[] = []
    for (const { name, content, write } of properties) {
      const value = content?.(described)
      const element = value === undefined ? dead.get(name) : write(value)
      if (element === undefined) {
        if (kind === 'some') missing.push(write(''))
      } else found.push(kind === 'names' ? write('') : element)
    }
    if (kind !== 'some')
      for (const [name, element] of dead)
        if (!names.has(name)) found.push(kind === 'names' ? emptyElement(name) : element)
    return propertyResponse(href, [
      ...(found.length > 0 || missing.length === 0 ? [{ status: 200, properties: found } as const] : []),
      ...(missing.length > 0 ? [{ status: 404, properties: missing } as const] : []),
    ])
  }
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
