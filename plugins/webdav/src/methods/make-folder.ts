import { NodekeepError, parentOf } from '@nodekeep/plugin-sdk'
import type { FastifyReply } from 'fastify'
import { type DavRequest, entryAt, requireParent } from '../dav-request.ts'

/** Answers MKCOL (RFC 4918, section 9.3): makes a folder. */
export async function makeFolder(dav: DavRequest, body: Uint8Array): Promise<FastifyReply> {
  if (body.length > 0) throw new NodekeepError('UNSUPPORTED_MEDIA_TYPE', 'A MKCOL has no body.')
  const { services, user, path } = dav
  return services.making.run([`${user.uuid}${path}`], () => makeMissing(dav))
}

async function makeMissing(dav: DavRequest): Promise<FastifyReply> {
  const { reply, files, path } = dav
  if ((await entryAt(dav, path)) !== null)
    throw new NodekeepError('METHOD_NOT_ALLOWED', 'Something has this name already. Choose another name.', {
      headers: { allow: 'OPTIONS, GET, HEAD, PROPFIND, PROPPATCH, COPY, MOVE, DELETE, LOCK, UNLOCK' },
    })
  await requireParent(dav, path)
  dav.checkLocks({ changed: [path], folders: [parentOf(path)] })
  await files.makeDirectory(path)
  return reply.code(201).send()
}
