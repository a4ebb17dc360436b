import { clientSignal, type FileEntry, invalid, NodekeepError, parentOf } from '@nodekeep/plugin-sdk'
import { nameVersion, transferConditions } from '@nodekeep/plugin-sdk/stored-content'
import type { FastifyReply } from 'fastify'
import { destinationOf, isBelow } from '../dav-paths.ts'
import { type DavRequest, entryAt, requireParent } from '../dav-request.ts'
import { carriedFrom, carryTo } from '../properties/carried-properties.ts'

/** Answers COPY and MOVE (RFC 4918, sections 9.8 and 9.9). */
export async function transfer(dav: DavRequest, verb: 'copy' | 'move'): Promise<FastifyReply> {
  const { request, reply, files, path: source, services, user } = dav
  const { path: destination } = destinationOf(request)
  const overwrite = overwriteOf(request.headers.overwrite)
  const entry = await files.stat(source)
  const isShallow = isDepth0(request.headers.depth, verb, entry)
  if (source === '/') throw new NodekeepError('FORBIDDEN', 'The folder of all files stays where it is.')
  if (source === destination || isBelow(destination, source) || isBelow(source, destination))
    throw new NodekeepError(
      'FORBIDDEN',
      'One of source and destination is the other one, or contains it. Choose another destination.',
    )
  const replaced = await entryAt(dav, destination)
  if (replaced === null) await requireParent(dav, destination)
  else if (!overwrite)
    throw new NodekeepError('PRECONDITION_FAILED', 'Something is at the destination already.')
  const conditions = await transferConditions(files, source, request.headers)
  dav.checkLocks({
    trees: verb === 'move' ? [source, destination] : [destination],
    folders: [
      ...(verb === 'move' ? [parentOf(source)] : []),
      ...(replaced === null ? [parentOf(destination)] : []),
    ],
  })
  const carried = (await carriedFrom(dav, source)).filter(({ place }) => place === '' || !isShallow)
  const options = { ...conditions, overwrite, signal: clientSignal(reply) }
  if (isShallow) await copyFolderAlone(dav, destination, replaced)
  else nameVersion(reply, await files[verb](source, destination, options))
  services.locks.removeWithin(user.uuid, destination, { onlyBelow: true })
  if (verb === 'move') services.locks.removeWithin(user.uuid, source)
  await carryTo(dav, destination, carried)
  return reply.code(replaced === null ? 201 : 204).send()
}

/** Depth 0 copies a folder without what is in it (RFC 4918, section 9.8.3). */
async function copyFolderAlone({ files }: DavRequest, destination: string, replaced: FileEntry | null) {
  if (replaced !== null) await files.remove(destination)
  await files.makeDirectory(destination)
}

/** RFC 4918, section 10.6: the default is "T". */
function overwriteOf(header: unknown): boolean {
  if (header === undefined || /^\s*t\s*$/i.test(String(header))) return true
  if (/^\s*f\s*$/i.test(String(header))) return false
  throw invalid('The header "overwrite" must be T or F.')
}

function isDepth0(header: unknown, verb: 'copy' | 'move', { type }: FileEntry): boolean {
  const depth = String(header ?? 'infinity').toLowerCase()
  if (depth === 'infinity' || type === 'file') return false
  if (depth === '0' && verb === 'copy') return true
  throw invalid(
    `The header "depth" of a ${verb === 'copy' ? 'COPY must be 0 or infinity' : 'MOVE must be infinity'}.`,
  )
}
