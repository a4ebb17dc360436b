import { sendFile } from '@nodekeep/plugin-sdk/stored-content'
import type { FastifyReply } from 'fastify'
import type { DavRequest } from '../dav-request.ts'

/** The answer to a browser at the address of a folder. */
const folderText =
  'This is the address of your files for programs that speak WebDAV, such as a file manager.\nTo see your files in a browser, open the pages of the node.\n'

/** Answers GET and HEAD: a file, or a text about folders for people. */
export async function read({ request, reply, files, path }: DavRequest): Promise<FastifyReply> {
  const entry = await files.stat(path)
  if (entry.type === 'directory') return reply.type('text/plain; charset=utf-8').send(folderText)
  return sendFile(reply, request, {
    stat: () => files.stat(path),
    read: (options) => files.read(path, options),
    headersOf: ({ revision }) =>
      entry.sha256 === undefined || entry.revision !== revision
        ? null
        : Promise.resolve({ 'oc-checksum': `SHA256:${entry.sha256}` }),
  })
}
