import type { FileListEntry } from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { davRoot } from '../dav-paths.ts'
import type { DescribedEntry } from '../properties/described-entries.ts'
import { parsePropfind } from '../properties/property-request.ts'
import { depthOf, responseWriter, sendMultistatus } from './propfind.ts'

/** Answers OPTIONS: the classes of RFC 4918, section 18, and the header by which Windows knows a server of WebDAV. */
export function options(reply: FastifyReply): FastifyReply {
  return reply
    .code(200)
    .headers({
      dav: '1, 2, 3',
      'ms-author-via': 'DAV',
      allow: 'OPTIONS, GET, HEAD, PUT, DELETE, PROPFIND, PROPPATCH, MKCOL, COPY, MOVE, LOCK, UNLOCK',
      'content-length': '0',
    })
    .send()
}

/** Answers PROPFIND of `/`: Windows asks the folders above the one that it connects. The files are only in `/dav`. */
export async function rootPropfind(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const depth = depthOf(request.headers.depth)
  const query = await parsePropfind(request.body instanceof Uint8Array ? request.body : new Uint8Array())
  const folder = (name: string, path: string): DescribedEntry => {
    const entry: FileListEntry = { name, path, type: 'directory', size: 0, modified: new Date() }
    return { entry, locks: [], room: null, sha256: null, dead: new Map() }
  }
  const write = responseWriter(query)
  const own = write('/', folder('/', '/'))
  const child = write(`${davRoot}/`, folder(davRoot.slice(1), davRoot))
  await sendMultistatus(reply, depth === 0 ? [own] : [own, child])
  return reply
}
