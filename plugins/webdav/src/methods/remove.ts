import { invalid, NodekeepError, parentOf } from '@nodekeep/plugin-sdk'
import { removeConditions } from '@nodekeep/plugin-sdk/stored-content'
import type { FastifyReply } from 'fastify'
import type { DavRequest } from '../dav-request.ts'

/** Answers DELETE (RFC 4918, section 9.6). What is deleted goes to the trash, if there is one. */
export async function remove(dav: DavRequest): Promise<FastifyReply> {
  const { request, reply, files, path, services, user } = dav
  if (path === '/') throw new NodekeepError('FORBIDDEN', 'The folder of all files cannot be deleted.')
  const entry = await files.stat(path)
  refuseOtherDepths(request.headers.depth, entry.type)
  const conditions = await removeConditions(files, path, request.headers)
  dav.checkLocks({ trees: [path], folders: [parentOf(path)] })
  await files.remove(path, conditions)
  services.locks.removeWithin(user.uuid, path)
  return reply.code(204).send()
}

function refuseOtherDepths(header: unknown, type: 'file' | 'directory'): void {
  if (header === undefined || type === 'file' || String(header).toLowerCase() === 'infinity') return
  throw invalid('A folder is deleted with all that is in it. Send the header "depth: infinity", or none.')
}
