import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { FileChangeOptions } from './contracts/files.ts'
import { userOf } from './user-of.ts'

/** The pattern of the group of a change: see `group` of {@link FileChangeOptions}. */
export const changeGroupPattern = '^[A-Za-z0-9._-]{1,64}$'

/** Random characters of a fresh group, of 4 bits each. A user does not draw the same twice in a millisecond. */
const randomLength = 9

/**
 * The header of an answer to a change, with the group that `POST /api/files/undo` takes back. It is missing where nothing can be taken
 * back.
 */
export const undoHeader = 'x-nodekeep-undo'

/** The headers of a route that changes files. The schema of the route has them, so that a wrong group is refused. */
export const changeHeaders = Type.Object({
  'x-nodekeep-device': Type.Optional(
    Type.String({ description: 'The name of the device that makes the change, in 1 to 100 characters.' }),
  ),
  'x-nodekeep-group': Type.Optional(
    Type.String({
      pattern: changeGroupPattern,
      description:
        'Changes with the same group belong together, such as the files of one upload or one run of a program, and are taken back together. By default, the changes of each request are a group. 1 to 64 letters, digits, "-", "_" and ".".',
    }),
  ),
})

/**
 * The origin of the changes of a request: the session or API token that the node has checked, and the device and the group that its
 * headers name, or else a fresh group. Routes that use it have {@link changeHeaders} in their schema.
 *
 * @throws NodekeepError UNAUTHORIZED on a public route that nobody is signed in to
 */
export function changeOrigin({
  user,
  headers,
}: Pick<FastifyRequest, 'user' | 'headers'>): FileChangeOptions & { readonly group: string } {
  const { uuid, sessionId: id, sessionName: name, scopes } = userOf({ user })
  const { 'x-nodekeep-device': by, 'x-nodekeep-group': group = freshGroup() } = headers as Static<
    typeof changeHeaders
  >
  return {
    ...(by !== undefined && { by }),
    group,
    maker: { kind: scopes === null ? 'session' : 'token', id, ...(name !== '' && { name }), user: uuid },
  }
}

function freshGroup(): string {
  // Groups of one time are neighbors in the journal, so its index of them writes few pages. Node has random bytes of UUIDs in stock.
  // Others take a call of the system each, which was a twentieth of the CPU time of small writes.
  return `${Date.now().toString(16)}${randomUUID().replaceAll('-', '').slice(0, randomLength)}`
}
