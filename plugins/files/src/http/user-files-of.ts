import { type FilesService, NodekeepError, type UserFiles } from '@nodekeep/plugin-sdk'
import type { FastifyRequest } from 'fastify'

/** The header in which a device or client says what it calls itself, for the journal. */
export const deviceHeader = 'x-nodekeep-device'

/** The files of who calls. */
export function userFilesOf(files: FilesService, { user }: FastifyRequest): UserFiles {
  if (user === null) throw new NodekeepError('UNAUTHORIZED', 'Sign in first: this needs a valid session.')
  return files.for(user)
}

/** Who makes a change, as far as the request says it. */
export function makerOf({ headers }: FastifyRequest): { readonly by?: string } {
  const by = headers[deviceHeader]
  return typeof by === 'string' ? { by } : {}
}
